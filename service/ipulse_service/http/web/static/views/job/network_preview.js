// The nodes of a network file, each with its parameters and where its output goes.
import { html, nothing } from "../../vendor.js";
import { number } from "../../lib/format.js";

/** @param {{version: string, nodes: any[], edges: [string, string][]}} graph */
export function networkPreview({ version, nodes, edges }) {
  const order = inOrder(nodes, edges);
  const targets = new Map(nodes.map((node) => [node.name, []]));
  for (const [from, to] of edges) targets.get(from)?.push(to);
  return html`<p class="soft small">${number(nodes.length)} nodes, ${number(edges.length)} edges${version ? `, written by nir ${version}` : ""}. Where nothing else is said, a node feeds the next one.</p>
    <ol class="nodes">${order.map((node, at) => item(node, targets.get(node.name), order[at + 1]?.name))}</ol>`;
}

function item(node, targets, next) {
  const isPlain = (targets.length === 1 && targets[0] === next) || (!targets.length && next === undefined);
  return html`<li class=${targets.includes(next) ? "feeds" : ""}>
    <p><strong>${node.type}</strong> <code>${node.name}</code></p>
    ${node.parameters.length ? html`<dl>${node.parameters.map((one) => html`<div><dt>${one.name}</dt><dd>${value(one)}</dd></div>`)}</dl>` : nothing}
    ${isPlain ? nothing : html`<p class="soft small">${targets.length ? html`to ${targets.map((name, at) => html`${at ? ", " : ""}<code>${name}</code>${name === node.name ? " (itself)" : ""}`)}` : "feeds nothing"}</p>`}
  </li>`;
}

/** One value, or the shape and the range of many. */
function value({ type, shape, value: single, low, mean, high }) {
  if (single !== undefined && single !== null) return number(single);
  const size = `${shape.join(" × ") || "no value"}${type === "text" ? " texts" : ""}`;
  if (low === undefined || low === null) return size;
  return low === high
    ? html`${number(low)} <span class="soft">all ${size}</span>`
    : html`${number(low)} to ${number(high)}, mean ${number(mean)} <span class="soft">of ${size}</span>`;
}

/** The nodes from the inputs on, each after one that feeds it; edges that lead back do not count. */
function inOrder(nodes, edges) {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const feeders = new Map(nodes.map((node) => [node.name, new Set()]));
  for (const [from, to] of edges) if (from !== to && byName.has(from)) feeders.get(to)?.add(from);
  const order = [];
  const rest = new Set(byName.keys());
  while (rest.size) {
    const names = [...rest];
    const ready = names.find((name) => [...feeders.get(name)].every((one) => !rest.has(one)));
    // In a loop, the node that something before it feeds comes first.
    const next = ready ?? names.find((name) => [...feeders.get(name)].some((one) => !rest.has(one))) ?? names[0];
    rest.delete(next);
    order.push(byName.get(next));
  }
  return order;
}
