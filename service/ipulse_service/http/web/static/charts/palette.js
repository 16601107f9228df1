// The colours of jobs: each job asks for its own, which follows from its id, and gives way only to another job of the
// same view.

const COUNT = 8;
const DASHES = [undefined, [6, 4], [2, 3], [10, 4, 2, 4]];

/** @typedef {{color: string, dash?: number[]}} Line */

function preferred(id) {
  let hash = 0;
  for (const letter of id) hash = (31 * hash + letter.charCodeAt(0)) >>> 0;
  return hash % COUNT;
}

/** @returns {Line} */
const line = (color, round) => ({ color: `--s${color + 1}`, dash: DASHES[round % DASHES.length] });

/** The line of the nth of several groups. @param {number} index */
export const lineAt = (index) => line(index % COUNT, Math.floor(index / COUNT));

/**
 * Colours of jobs that are shown together; after eight jobs lines are dashed.
 * @param {string[]} ids @returns {Map<string, Line>}
 */
export function colorsFor(ids) {
  const result = new Map();
  const taken = new Map();
  ids.forEach((id, index) => {
    const round = Math.floor(index / COUNT);
    const used = taken.get(round) ?? taken.set(round, new Set()).get(round);
    let color = preferred(id);
    while (used.has(color)) color = (color + 1) % COUNT;
    used.add(color);
    result.set(id, line(color, round));
  });
  return result;
}
