// The arithmetic of charts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extremes, smoothed } from "../../../../service/ipulse_service/http/web/static/charts/points.js";
import { logRange, rangeOf } from "../../../../service/ipulse_service/http/web/static/charts/ticks.js";
import { isStepLike, kindOf } from "../../../../service/ipulse_service/http/web/static/views/job/series.js";

const STEPS = Array.from({ length: 50 }, (_, step) => step);
const near = (got, wanted) =>
  got.forEach((value, at) => assert.ok(Math.abs(value - wanted[at]) < 1e-9, `${at}: ${value}`));

test("a constant stays that constant, from its first point", () => {
  near(
    smoothed(
      STEPS,
      STEPS.map(() => 0.5),
      0.9,
    ),
    STEPS.map(() => 0.5),
  );
  const late = smoothed(
    STEPS,
    STEPS.map((step) => (step < 10 ? null : 2)),
    0.9,
  );
  near(
    late.slice(10),
    STEPS.slice(10).map(() => 2),
  );
});

test("without smoothing the values are those of the curve", () => {
  const raw = STEPS.map((step) => step % 2);
  assert.deepEqual(smoothed(STEPS, raw, 0), raw);
});

test("a jump shows at its step, and not before", () => {
  const jump = smoothed(
    STEPS,
    STEPS.map((step) => (step === 49 ? 1 : 0)),
    0.9,
  );
  near(
    jump.slice(0, 49),
    STEPS.slice(0, 49).map(() => 0),
  );
  assert.ok(jump[49] > 0 && jump[49] < 1);
});

test("curves that change in steps are not smoothed", () => {
  assert.deepEqual(
    ["learning_rate", "second_threshold/1", "loss"].map((name) => isStepLike(kindOf(name))),
    [true, true, false],
  );
});

test("a value that is no number leaves the others as they are", () => {
  const odd = [1, NaN, Infinity, null, 3];
  assert.deepEqual(extremes([{ x: [0, 1, 2, 3, 4], y: odd }], 0, 4), [1, 3]);
  assert.deepEqual(extremes([{ x: [0], y: [NaN] }], 0, 1), null);
  const [first, ...others] = smoothed([0, 1, 2, 3, 4], odd, 0.5);
  assert.deepEqual([first, ...others.slice(0, 3)], [1, null, null, null]);
  assert.ok(others[3] > 1 && others[3] < 3);
});

test("a range of any numbers has a finite length", () => {
  const most = Number.MAX_VALUE;
  for (const [low, high] of [rangeOf(-most, most), rangeOf(0, 0), logRange(5e-324, most), logRange(1, 1)]) {
    assert.ok(high > low && Number.isFinite(high - low), `${low} to ${high}`);
  }
});
