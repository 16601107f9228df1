// The arithmetic of charts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { smoothed } from "../../../../service/ipulse_service/http/web/static/charts/points.js";
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
