// The live view of a job in a notebook. Texts of a job are set as text, never as markup.
const SERIES = ["#0969da", "#8250df", "#bf8700", "#cf222e"];
const WIDTH = 420,
  HEIGHT = 120;

function element(tag, text = "", style = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.style.cssText = style;
  return made;
}

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function plot(state, names) {
  const picture = svg("svg", {
    width: WIDTH,
    height: HEIGHT + 8,
    viewBox: `-2 -4 ${WIDTH + 4} ${HEIGHT + 8}`,
    role: "img",
  });
  const known = names.filter((name) => (state.curves[name] ?? []).some((value) => value !== null));
  const values = known.flatMap((name) => state.curves[name].filter((value) => value !== null));
  const low = Math.min(...values),
    span = Math.max(...values) - low || 1;
  const last = Math.max(state.all_epochs, 2);
  known.forEach((name, index) => {
    const points = state.curves[name]
      .map((value, at) =>
        value === null
          ? null
          : `${((state.epochs[at] - 1) / (last - 1)) * WIDTH},${HEIGHT - ((value - low) / span) * HEIGHT}`,
      )
      .filter((point) => point !== null);
    picture.append(
      svg("polyline", { points: points.join(" "), fill: "none", stroke: SERIES[index], "stroke-width": 1.5 }),
    );
  });
  const box = element("div");
  box.append(picture);
  known.forEach((name, index) => {
    const value = state.curves[name].filter((each) => each !== null).at(-1);
    box.append(element("span", `${name} ${value.toPrecision(4)}  `, `color:${SERIES[index]};margin-right:1em`));
  });
  return known.length ? box : element("div");
}

function show(root, state) {
  const head = element("div");
  const link = element("a", state.name);
  if (/^https?:/.test(state.url)) link.href = state.url;
  link.target = "_blank";
  link.rel = "noopener";
  head.append(
    link,
    element(
      "span",
      state.state,
      `margin-left:.6em;border-radius:1em;padding:.05em .6em;color:#fff;background:${state.color}`,
    ),
  );
  const done = element("progress");
  done.max = state.all_epochs;
  done.value = state.epochs.at(-1) ?? 0;
  done.style.width = `${WIDTH}px`;
  done.setAttribute("aria-label", "epochs");
  const share = element("span", `${Math.round((100 * done.value) / (done.max || 1))} %`, "margin-left:.6em");
  const log = element("pre", state.log.join("\n"), "max-height:12em;overflow:auto;margin:.4em 0 0;font-size:12px");
  root.replaceChildren(
    head,
    element("div", state.headline),
    done,
    share,
    plot(state, ["test_accuracy", "accuracy"]),
    plot(state, ["test_loss", "loss"]),
    log,
  );
}

// Draws over each card of this view, also over the cards that replace it, before they are painted.
function drawOver(model) {
  const root = element("div"),
    cards = `[data-ipulse-view="${model.get("place")}"]`;
  const place = () => {
    for (const card of document.querySelectorAll(cards)) {
      if (root.parentNode !== card) card.replaceChildren(root);
    }
  };
  const update = () => show(root, model.get("state"));
  const observer = new MutationObserver(place);
  observer.observe(document.body, { childList: true, subtree: true });
  model.on("change:state", update);
  update();
  place();
  return () => {
    observer.disconnect();
    model.off("change:state", update);
  };
}

export default {
  initialize({ model }) {
    return drawOver(model);
  },
  render({ model, el }) {
    const update = () => show(el, model.get("state"));
    model.on("change:state", update);
    update();
    return () => model.off("change:state", update);
  },
};
