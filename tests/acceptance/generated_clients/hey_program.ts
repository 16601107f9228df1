// Puts two jobs through a service with the client that @hey-api/openapi-ts makes. The first is
// trained by the service's own agent; for the second this program is the agent.
import assert from "node:assert/strict";
import { createClient } from "./generated/client/index.ts";
import * as api from "./generated/index.ts";
import { content, digest, network, protocol, save, tokens, url } from "./shared.ts";

const agent = "generated-hey";
const user = createClient({ baseUrl: url, auth: tokens.user });
const worker = createClient({ baseUrl: url, auth: tokens.worker });
const spec: api.ExperimentSpec = {
  version: 1,
  name: agent,
  data: { kind: "digits", samples: 300 },
  network: network(32),
  training: { epochs: 2 },
  device: { kind: "cpu", threads: 1 },
};

async function download(job_id: string, below = ""): Promise<void> {
  const files = await api.listArtifacts({ client: user, path: { job_id }, throwOnError: true });
  for (const { id, name, size } of files.data.artifacts) {
    const path = { job_id, artifact_id: id };
    const file = await api.downloadArtifact({ client: user, path, parseAs: "blob", throwOnError: true });
    await save(file.data, name, size, below);
  }
}

async function train(): Promise<string> {
  const refused = await api.validateSpec({ client: user, body: { version: 1, network: network(0) } });
  assert.equal(refused.response?.status, 422);
  const problems = refused.error?.errors.map((error) => error.pointer);
  assert.deepEqual(problems, ["/network/layers/0/neurons"]);
  const valid = await api.validateSpec({ client: user, body: spec, throwOnError: true });
  assert.ok(valid.data.valid);
  const headers = { "idempotency-key": "hey-1" };
  const job = await api.submitJob({ client: user, body: spec, headers, throwOnError: true });
  const again = await api.submitJob({ client: user, body: spec, headers, throwOnError: true });
  const job_id = job.data.id;
  assert.equal(again.data.id, job_id);

  const kinds = new Set<string>();
  let last: api.StreamEnd | undefined;
  const { stream } = await api.streamEvents({ client: user, path: { job_id } });
  for await (const message of stream) {
    assert.ok(typeof message !== "string");
    if ("kind" in message) kinds.add(message.kind);
    else last = message;
  }
  for (const kind of ["state", "phase", "metric", "log"]) assert.ok(kinds.has(kind), kind);
  assert.equal(last?.state, "succeeded");

  const page = await api.listEvents({ client: user, path: { job_id }, throwOnError: true });
  assert.equal(page.data.events[0]?.kind, "state");
  const ended = await api.getJob({ client: user, path: { job_id }, throwOnError: true });
  assert.equal(ended.data.state, "succeeded");
  const log = await api.readLog({ client: user, path: { job_id }, throwOnError: true });
  assert.equal(typeof log.data, "string");
  const metrics = await api.getMetrics({ client: user, throwOnError: true });
  assert.ok(metrics.data.includes("ipulse_jobs"));
  const profile = await api.getProfile({ client: user, path: { job_id }, throwOnError: true });
  assert.ok(profile.data);
  await download(job_id);
  return job_id;
}

async function upload(): Promise<string> {
  const spoken = { "IPUlse-Protocol": protocol };
  const body = { agent, device_kinds: ["ipu"] };
  await api.registerAgent({ client: worker, body, headers: spoken, throwOnError: true });
  const wanted: api.ExperimentSpec = { ...spec, device: { kind: "ipu" } };
  const job = await api.submitJob({ client: user, body: wanted, throwOnError: true });
  const request = { ...body, job_id: job.data.id };
  const claim = await api.claimJob({ client: worker, body: request, headers: spoken, throwOnError: true });
  const path = { attempt_id: claim.data.attempt_id };
  const fence = { "IPUlse-Fence": claim.data.fence };
  const events: api.EventBatch = { first: 1, events: [{ kind: "log", message: "hello" }] };
  const told = await api.reportEvents({ client: worker, path, body: events, headers: fence, throwOnError: true });
  assert.equal(told.data.next, 2);
  const stored = await api.putFile({
    client: worker,
    path: { ...path, name: "upload.log" },
    headers: { ...fence, ...spoken },
    query: { role: "log", sha256: digest, size: content.length },
    body: new Blob([content]),
    throwOnError: true,
  });
  assert.equal(stored.data.sha256, digest);
  const end = { reason: "diverged" };
  const finished = await api.finishAttempt({ client: worker, path, body: end, headers: fence, throwOnError: true });
  assert.equal(finished.data.state, "failed");
  await download(job.data.id, "uploaded");
  return job.data.id;
}

const ready = await api.getReadiness({ client: user, throwOnError: true });
assert.equal(ready.data.status, "ok");
console.log(JSON.stringify({ trained: await train(), uploaded: await upload() }));
