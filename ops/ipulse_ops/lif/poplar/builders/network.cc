#include "network.h"

#include <map>
#include <set>
#include <sstream>

#include <poputil/exceptions.hpp>

namespace lif {
namespace {

const char *const kVersion = "ipulse-lif/1";

[[noreturn]] void refuse(const std::string &words) {
  throw poputil::poplibs_error("attributes of the LIF op: " + words);
}

std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);)
    parts.push_back(part);
  return parts;
}

float real(const std::string &name, const std::string &text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  float value = 0;
  if (!(in >> value) || !in.eof())
    refuse(name + " must be a number; got '" + text + "'");
  return value;
}

template <typename T>
T choice(const std::string &name, const std::string &text, const std::map<std::string, T> &of) {
  const auto found = of.find(text);
  if (found != of.end())
    return found->second;
  std::string names;
  for (const auto &one : of)
    names += (names.empty() ? "" : ", ") + one.first;
  refuse(name + " must be one of " + names + "; got '" + text + "'");
}

Policy parsePolicy(const std::string &text) {
  return choice<Policy>(
      "policy", text, {{"index", Policy::Index}, {"cyclic", Policy::Cyclic}, {"top", Policy::Top}});
}

/// The input is read as a layer, too, of which it has the neurons and slots.
Layer parseLayer(const std::string &text) {
  const std::size_t open = text.find('(');
  if (open == std::string::npos || text.back() != ')')
    refuse("expected input(...), lif(...) or leaky(...); got '" + text + "'");
  Layer layer;
  layer.spiking = choice<bool>("a layer's kind", text.substr(0, open),
                               {{"input", true}, {"lif", true}, {"leaky", false}});
  for (const std::string &part : split(text.substr(open + 1, text.size() - open - 2), ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (name == "neurons")
      layer.neurons = parseWhole(name, value, 1);
    else if (name == "slots" && layer.spiking)
      layer.slots = parseWhole(name, value, 1);
    else if (part == "second_threshold" && layer.spiking)
      layer.gated = true;
    else if (part == "recurrent" && layer.spiking)
      layer.recurrent = true;
    else if (part == "bias")
      layer.bias = true;
    else if (part == "synapse")
      layer.synapse = true;
    else if (part == "adapts" && layer.spiking)
      layer.adapts = true;
    else if (part == "detaches" && layer.spiking)
      layer.detaches = true;
    else if (part == "membrane" && layer.spiking)
      layer.membrane = true;
    else if (name == "policy" && layer.spiking)
      layer.policy = parsePolicy(value);
    else
      refuse("a layer has neurons=, bias, synapse, and if it is lif, slots=, second_threshold, "
             "recurrent, membrane, adapts, detaches, policy=; got '" +
             part + "' in '" + text + "'");
  }
  if (layer.neurons == 0 || (layer.spiking && layer.slots == 0))
    refuse("a layer needs neurons=, and slots= if it is lif; got '" + text + "'");
  if (layer.slots > layer.neurons && text[0] != 'i')
    refuse("slots must be at most neurons; got '" + text + "'");
  if (layer.neurons > 65536)
    refuse("a layer may have 65536 neurons, whose ids have 16 bits; got '" + text + "'");
  if (layer.policy == Policy::Top && layer.neurons > 60000)
    refuse("a layer with policy=top may have 60000 neurons; got '" + text + "'");
  return layer;
}

/// "weights", and after it "+inputs" and "+constants".
void parseGradients(const std::string &text, Network &network) {
  const std::vector<std::string> parts = split(text, '+');
  bool fits = !parts.empty() && parts[0] == "weights";
  for (std::size_t i = 1; i < parts.size(); ++i) {
    network.inputGradients |= parts[i] == "inputs";
    network.constantGradients |= parts[i] == "constants";
    fits = fits && (parts[i] == "inputs" || parts[i] == "constants");
  }
  if (!fits)
    refuse("gradients must be weights, and after it +inputs, +constants; got '" + text + "'");
}

} // namespace

unsigned parseWhole(const std::string &name, const std::string &text, unsigned least) {
  const bool digits =
      !text.empty() && text.size() < 9 && text.find_first_not_of("0123456789") == std::string::npos;
  const unsigned value = digits ? static_cast<unsigned>(std::stoul(text)) : 0;
  if (!digits || value < least)
    refuse(name + " must be a whole number of at least " + std::to_string(least) + "; got '" +
           text + "'");
  return value;
}

Reset parseReset(const std::string &text) {
  return choice<Reset>(
      "reset", text, {{"zero", Reset::Zero}, {"subtract", Reset::Subtract}, {"none", Reset::None}});
}

ResetGradient parseResetGradient(const std::string &text) {
  return choice<ResetGradient>("reset_gradient", text,
                               {{"mask", ResetGradient::Mask},
                                {"term", ResetGradient::Term},
                                {"none", ResetGradient::None}});
}

Surrogate parseSurrogate(const std::string &text) {
  static const std::map<std::string, unsigned> kinds{
      {"superspike", 0}, {"arctan", 1}, {"boxcar", 2}, {"exponential", 3}, {"table", 4}};
  const std::vector<std::string> parts = split(text, ':');
  Surrogate surrogate;
  surrogate.kind = choice("surrogate", parts.empty() ? "" : parts[0], kinds);
  const bool table = surrogate.kind == kinds.at("table");
  if (parts.size() < 2 || (table ? parts.size() < 4 : parts.size() > 2))
    refuse("surrogate must be <name>:<slope or width>, and of a table "
           "table:<width>:<value>:<value>..., got '" +
           text + "'");
  surrogate.parameter = real("surrogate", parts[1]);
  if (!(surrogate.parameter > 0))
    refuse("the surrogate's slope or width must be greater than 0; got '" + parts[1] + "'");
  for (std::size_t i = 2; i < parts.size(); ++i)
    surrogate.table.push_back(real("surrogate", parts[i]));
  return surrogate;
}

Network parseNetwork(const std::string &attributes) {
  Network network;
  std::istringstream words(attributes);
  std::string word;
  words >> word;
  if (word != kVersion)
    refuse(std::string("expected '") + kVersion + " reset=... ... lif(...) leaky(...)'; got '" +
           attributes + "'");
  std::map<std::string, std::string> values;
  while (words >> word) {
    const std::size_t equals = word.find('='), open = word.find('(');
    if (open < equals) {
      const Layer layer = parseLayer(word);
      if (word.compare(0, 6, "input(") != 0) {
        network.layers.push_back(layer);
      } else if (network.inputs != 0 || !network.layers.empty() || layer.gated || layer.bias ||
                 layer.recurrent || layer.synapse || layer.membrane || layer.adapts ||
                 layer.detaches || layer.policy != Policy::Index) {
        refuse("one input(neurons=...,slots=...) must come before the layers; got '" + word + "'");
      } else {
        network.inputs = layer.neurons;
        network.inputSlots = layer.slots;
      }
      continue;
    }
    if (equals == std::string::npos)
      refuse("expected key=value, lif(...) or leaky(...); got '" + word + "'");
    if (!values.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      refuse("'" + word.substr(0, equals) + "' is there twice");
  }
  const auto take = [&](const std::string &name) {
    const auto found = values.find(name);
    if (found == values.end())
      refuse("'" + name + "=' is missing in '" + attributes + "'");
    const std::string value = found->second;
    values.erase(found);
    return value;
  };
  network.reset = parseReset(take("reset"));
  network.resetGradient = parseResetGradient(take("reset_gradient"));
  network.resetOnEmission =
      choice<bool>("reset_on", take("reset_on"), {{"state", false}, {"emission", true}});
  network.delay = choice<unsigned>("delay", take("delay"), {{"0", 0}, {"1", 1}});
  network.surrogate = parseSurrogate(take("surrogate"));
  network.mapping = choice<Mapping>("mapping", take("mapping"),
                                    {{"capacity", Mapping::Capacity},
                                     {"neurons", Mapping::Neurons},
                                     {"linear", Mapping::Linear}});
  network.ipus = parseWhole("ipus", take("ipus"), 1);
  if (values.count("split"))
    network.splitsNeurons =
        choice<bool>("split", take("split"), {{"layers", false}, {"neurons", true}});
  if (values.count("recompute"))
    network.recompute = parseWhole("recompute", take("recompute"), 1);
  if (values.count("truncate"))
    network.truncate = parseWhole("truncate", take("truncate"), 1);
  if (network.truncate != 0 && (network.recompute != 0 || network.delay != 0))
    refuse("with truncate= there is no recompute=, and the delay is 0");
  if (values.count("states"))
    network.states = choice<States>("states", take("states"),
                                    {{"float", States::Float},
                                     {"half", States::Half},
                                     {"half_stochastic", States::HalfStochastic}});
  parseGradients(take("gradients"), network);
  if (!values.empty())
    refuse("there is no key '" + values.begin()->first + "'");
  if (network.inputs == 0 || network.layers.empty() ||
      (network.layers.size() == 1 && !network.layers[0].spiking))
    refuse("a network needs an input(...), a hidden layer and a readout, or a readout that spikes; "
           "got '" +
           attributes + "'");
  for (std::size_t l = 0; l + 1 < network.layers.size(); ++l)
    if (!network.layers[l].spiking)
      refuse("only the last layer may be leaky");
  network.layers.back().membrane = true;
  for (const Layer &layer : network.layers)
    if (layer.adapts &&
        (network.recompute != 0 || network.resetTerm() || layer.policy == Policy::Top))
      refuse("a layer that adapts has neither recompute=, policy=top nor, with a reset, "
             "reset_gradient=none");
  if (!network.splitsNeurons && network.ipus > network.layers.size())
    refuse("with split=layers a layer lies on one IPU: " + std::to_string(network.layers.size()) +
           " layers can use as many IPUs; got ipus=" + std::to_string(network.ipus));
  for (std::size_t l = 0; l < network.layers.size(); ++l)
    if (network.layers[l].policy == Policy::Top && network.rangesOf(network.layers[l]) > 1)
      refuse("policy=top compares membranes, and spikes cross between IPUs as ids alone: layer " +
             std::to_string(l + 1) + " cannot be on " + std::to_string(network.ipus) +
             " IPUs by split=neurons");
  return network;
}

} // namespace lif
