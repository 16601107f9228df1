// Numbers, shares, durations and sizes as people read them.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytes,
  count,
  duration,
  isolated,
  label,
  metric,
  number,
  percent,
  relative,
} from "../../../../service/ipulse_service/http/web/static/lib/format.js";

const cases = (format, pairs) => {
  for (const [value, text] of pairs) assert.equal(format(value), text);
};

test("numbers have three significant digits and exponents only at the ends", () => {
  cases(number, [
    [0, "0"],
    [0.00012345, "0.000123"],
    [0.00001, "1.00e−5"],
    [1234.5, "1,235"],
    [-1234567, "−1,234,567"],
    [1e7, "1.00e7"],
    [Number.NaN, "NaN"],
    [-Infinity, "−∞"],
    [null, "—"],
    [undefined, "—"],
    ["text", "text"],
  ]);
});

test("shares that are small keep two digits", () => {
  cases(percent, [
    [0, "0.0 %"],
    [0.0042, "0.42 %"],
    [0.975, "97.5 %"],
    [1, "100.0 %"],
    [null, "—"],
  ]);
});

test("a metric has the unit of its name", () => {
  assert.equal(metric("firing_rate/1", 0.021), "2.1 %");
  assert.equal(metric("learning_rate", 0.021), "0.021");
  assert.equal(metric("run_seconds", 125), "2 min 05 s");
  assert.equal(metric("data.dataset", `sha256:${"ab".repeat(32)}`), "sha256:abababab…");
});

test("durations keep two units", () => {
  cases(duration, [
    [0.042, "0.0 s"],
    [9.96, "10 s"],
    [59.6, "60 s"],
    [125, "2 min 05 s"],
    [11_040, "3 h 04 min"],
    [183_600, "2 d 03 h"],
  ]);
});

test("sizes are never 1024 of a unit", () => {
  cases(bytes, [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024 ** 2 - 1, "1.0 MiB"],
    [150 * 1024 ** 2, "150 MiB"],
    [null, "—"],
  ]);
  cases(count, [
    [1_234_567, "1,234,567"],
    [20_200_000, "20.2 M"],
    [1.35e10, "13.5 G"],
  ]);
});

test("times are relative for a week and say which side they are on", () => {
  const now = Date.UTC(2026, 0, 20);
  const at = (seconds) => relative(new Date(now - 1000 * seconds), now);
  cases(at, [
    [3, "now"],
    [25, "20 s ago"],
    [200, "3 min ago"],
    [-300, "in 5 min"],
    [7200, "2 h ago"],
    [3 * 86_400, "3 d ago"],
  ]);
  assert.match(at(40 * 86_400), /^11 Dec 2025$/);
});

test("layers have their names in words", () => {
  assert.equal(label("network.layers.0.second_threshold"), "layers[0] second threshold");
  assert.equal(label("firing_rate/2"), "Firing rate, layers[1]");
});

test("a name that turns the text is kept apart, and cannot end that", () => {
  assert.equal(isolated("plain"), "plain");
  assert.equal(isolated("\u05d0\u2069b"), "\u2068\u05d0b\u2069");
});
