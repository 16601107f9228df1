// The program as a tree: what it executes, how often, and what each part costs. Branches are drawn when they are
// opened.
import { LitElement, html, nothing } from "../../vendor.js";
import { bytes, count, number, percent } from "../../lib/format.js";
import { KINDS } from "./trace_events.js";

const MOST = 200; // children or results that are shown at once

/**
 * @typedef {{id: number, name: string, type: string, count: number | undefined, children: number[], executions:
 * number, cycles: number, all: number, live: number | undefined}} Program
 * `cycles`: of its own; `all`: with everything below it, each part once
 * @typedef {{programs: Map<number, Program>, roots: number[], total: number}} Tree
 */

/** @param {any} document poplar_profile.json @returns {Tree} */
export function treeOf({ compilation, execution }) {
  const spent = new Map((execution?.totals ?? []).map((one) => [one.program, one]));
  const live = new Map(
    (compilation.livenessProgramSteps ?? []).map((one) => [one.program, one.notAlwaysLiveMemory.bytes]),
  );
  const programs = new Map(
    compilation.programs.map((one) => {
      const total = spent.get(one._id);
      const cycles = total ? KINDS.reduce((sum, kind) => sum + (total[`${kind}Cycles`] ?? 0), 0) : 0;
      return [
        one._id,
        {
          id: one._id,
          name: one.name || one.type,
          type: one.type,
          count: one.count,
          children: one.children ?? [],
          executions: total?.executions ?? 0,
          cycles,
          all: 0,
          live: live.get(one._id),
        },
      ];
    }),
  );
  const below = new Set([...programs.values()].flatMap(({ children }) => children));
  for (const program of programs.values()) program.all = sumOf(program, programs);
  const roots = [...programs.keys()].filter((id) => !below.has(id));
  return {
    programs,
    roots: roots.length ? roots : [...programs.keys()].slice(0, 1),
    total: [...programs.values()].reduce((sum, { cycles }) => sum + cycles, 0),
  };
}

/** The cycles of a program and of all below it; one that is called twice counts once. */
function sumOf(top, programs) {
  if (!top.children.length) return top.cycles;
  const seen = new Set();
  const rest = [top.id];
  let sum = 0;
  while (rest.length) {
    const id = rest.pop();
    const program = programs.get(id);
    if (!program || seen.has(id)) continue;
    seen.add(id);
    sum += program.cycles;
    rest.push(...program.children);
  }
  return sum;
}

class ProgramTree extends LitElement {
  static properties = {
    tree: { attribute: false },
    selected: { attribute: false },
    find: { state: true },
    open: { state: true },
    more: { state: true },
  };

  constructor() {
    super();
    /** @type {Tree | null} */
    this.tree = null;
    this.selected = null; // id
    this.find = "";
    this.open = new Set(); // paths of open branches
    this.more = new Map(); // path -> how many children are shown
  }

  createRenderRoot() {
    return this;
  }

  willUpdate(changed) {
    if (changed.has("tree") && this.tree) this.open = new Set(this.mostExpensive());
  }

  /** The paths from the root to the most expensive step, so that the tree opens where the cycles are. */
  mostExpensive() {
    const paths = [];
    let id = this.tree.roots.reduce((most, one) => (this.all(one) > this.all(most) ? one : most), this.tree.roots[0]);
    for (let path = String(id); paths.length < 6; path += `.${id}`) {
      const program = this.tree.programs.get(id);
      if (!program?.children.length) break;
      paths.push(path);
      id = program.children.reduce((most, one) => (this.all(one) > this.all(most) ? one : most), program.children[0]);
    }
    return paths;
  }

  all(id) {
    return this.tree.programs.get(id)?.all ?? 0;
  }

  toggle(path, isOpen) {
    if (isOpen === this.open.has(path)) return;
    const open = new Set(this.open);
    if (isOpen) open.add(path);
    else open.delete(path);
    this.open = open;
  }

  choose(id) {
    this.dispatchEvent(new CustomEvent("choose", { detail: id, bubbles: true }));
  }

  render() {
    if (!this.tree) return nothing;
    const { programs, roots } = this.tree;
    return html`<div class="bar"><input type="search" placeholder="find a program" aria-label="Find a program" .value=${this.find} @input=${(
      event,
    ) => {
      this.find = event.target.value;
    }}>
        <span class="soft small">${programs.size.toLocaleString("en")} programs</span></div>
      ${this.find ? this.results() : html`<ul class="tree-list">${roots.map((id) => this.branch(id, String(id)))}</ul>`}`;
  }

  results() {
    const words = this.find.toLowerCase();
    const found = [...this.tree.programs.values()]
      .filter(({ name, type }) => name.toLowerCase().includes(words) || type.toLowerCase().includes(words))
      .sort((a, b) => b.all - a.all);
    if (!found.length) return html`<p class="soft">No program has “${this.find}” in its name.</p>`;
    return html`<ul class="tree-list">${found.slice(0, MOST).map((program) => html`<li class="leaf">${this.line(program)}</li>`)}</ul>
      ${found.length > MOST ? html`<p class="soft small">The ${MOST} most expensive of ${found.length.toLocaleString("en")}.</p>` : nothing}`;
  }

  branch(id, path) {
    const program = this.tree.programs.get(id);
    if (!program) return nothing;
    if (!program.children.length) return html`<li class="leaf">${this.line(program)}</li>`;
    const isOpen = this.open.has(path);
    const shown = this.more.get(path) ?? MOST;
    return html`<li><details ?open=${isOpen} @toggle=${(event) => {
      event.stopPropagation();
      this.toggle(path, event.target.open);
    }}>
      <summary>${this.line(program)}</summary>
      ${
        isOpen
          ? html`<ul>${program.children.slice(0, shown).map((child) => this.branch(child, `${path}.${child}`))}
        ${
          program.children.length > shown
            ? html`<li class="leaf"><button type="button" class="ghost" @click=${() => {
                this.more = new Map(this.more).set(path, shown + 5 * MOST);
              }}>
          ${(program.children.length - shown).toLocaleString("en")} more</button></li>`
            : nothing
        }</ul>`
          : nothing
      }
    </details></li>`;
  }

  line(program) {
    const { total } = this.tree;
    const times = program.count === undefined ? "" : ` × ${number(program.count)}`;
    const name = program.children.length
      ? html`<b>${program.name}</b>`
      : html`<button type="button" class="ghost tree-name" aria-pressed=${String(program.id === this.selected)} title="Show it in the other views"
      @click=${() => this.choose(program.id === this.selected ? null : program.id)}>${program.name}</button>`;
    return html`<span class="tree-line"><span class="tree-what">${name} <span class="soft small">${program.name === program.type ? "" : program.type}${times}</span></span>
      <span class="tree-figure soft small">${program.executions ? `${count(program.executions)} executions` : ""}</span>
      <span class="tree-figure small">${program.live === undefined ? "" : html`<span class="soft">${bytes(program.live)} live</span>`}</span>
      <span class="tree-figure small">${program.all ? `${count(program.all)} cycles` : ""}</span>
      <span class="tree-share">${program.all && total ? html`<span class="meter" aria-hidden="true"><span .style=${`width: ${(100 * program.all) / total}%`}></span></span><span class="small soft">${percent(program.all / total)}</span>` : nothing}</span></span>`;
  }
}
customElements.define("ip-program-tree", ProgramTree);
