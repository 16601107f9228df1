"""Speed, memory and accuracy of training, beside other libraries."""
