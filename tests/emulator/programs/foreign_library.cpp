// Adds the codelets of the file in argument 1 and prints the error.
#include <iostream>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>

int main(int, char **arguments) {
  poplar::IPUModel model;
  poplar::Graph graph(model.createDevice().getTarget());
  try {
    graph.addCodelets(arguments[1]);
    std::cout << "no error\n";
  } catch (const poplar::poplar_error &error) {
    std::cout << "poplar_error: " << error.what() << '\n';
  }
}
