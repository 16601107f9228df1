"""Speed, memory and accuracy of training, compared with other libraries."""
