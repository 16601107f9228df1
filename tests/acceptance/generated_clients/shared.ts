// What both TypeScript programs do without their clients.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const url = variable("IPULSE_URL");
export const protocol = Number(variable("IPULSE_PROTOCOL"));
export const tokens = { user: variable("IPULSE_TOKEN"), worker: variable("IPULSE_WORKER_TOKEN") };
export const folder = variable("FOLDER");
export const content = new TextEncoder().encode("uploaded by a generated client");
export const digest = createHash("sha256").update(content).digest("hex");

export function network(neurons: number) {
  return { layers: [{ neurons }] };
}

export function save(file: Blob | File, name: string, size: number, below = ""): Promise<void> {
  assert.equal(file.size, size);
  mkdirSync(join(folder, below), { recursive: true });
  return file.arrayBuffer().then((bytes) => writeFileSync(join(folder, below, name), Buffer.from(bytes)));
}

function variable(name: string): string {
  const value = process.env[name];
  assert.ok(value, name);
  return value;
}
