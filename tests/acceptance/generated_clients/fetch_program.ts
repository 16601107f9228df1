// Puts two jobs through a service with openapi-fetch and the types that openapi-typescript makes.
// The first is trained by the service's own agent; for the second this program is the agent.
import assert from "node:assert/strict";
import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./generated/schema.ts";
import { content, digest, network, protocol, save, tokens, url } from "./shared.ts";

type Spec = components["schemas"]["ExperimentSpec"];

const agent = "generated-fetch";
const user = client(tokens.user);
const worker = client(tokens.worker);
const spec: Spec = {
  version: 1,
  name: agent,
  data: { kind: "digits", samples: 300 },
  network: network(32),
  training: { epochs: 2 },
  device: { kind: "cpu", threads: 1 },
};

function client(token: string): Client<paths> {
  return createClient<paths>({ baseUrl: url, headers: { authorization: `Bearer ${token}` } });
}

function data<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  assert.ok(answer.data !== undefined, JSON.stringify(answer.error));
  return answer.data;
}

async function download(job_id: string, below = ""): Promise<void> {
  const params = { path: { job_id } };
  const files = data(await user.GET("/v1/jobs/{job_id}/artifacts", { params }));
  for (const { id, name, size } of files.artifacts) {
    const file = await user.GET("/v1/jobs/{job_id}/artifacts/{artifact_id}/content", {
      params: { path: { job_id, artifact_id: id } },
      parseAs: "blob",
    });
    await save(data(file), name, size, below);
  }
}

async function train(): Promise<string> {
  const refused = await user.POST("/v1/jobs:validate", { body: { version: 1, network: network(0) } });
  assert.equal(refused.response.status, 422);
  const problems = refused.error?.errors.map((error) => error.pointer);
  assert.deepEqual(problems, ["/network/layers/0/neurons"]);
  assert.ok(data(await user.POST("/v1/jobs:validate", { body: spec })).valid);
  const params = { header: { "idempotency-key": "fetch-1" } };
  const job_id = data(await user.POST("/v1/jobs", { body: spec, params })).id;
  assert.equal(data(await user.POST("/v1/jobs", { body: spec, params })).id, job_id);

  const path = { path: { job_id } };
  const options = { params: path, parseAs: "stream" } as const;
  const stream = data(await user.GET("/v1/jobs/{job_id}/events/stream", options));
  assert.ok(stream);
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) text += part;
  assert.match(text, /\nevent: end\ndata: .*"state":"succeeded"/);

  const kinds = new Set<string>();
  for (let after = 0, end = false; !end; ) {
    const query = { after, limit: 20 };
    const page = data(await user.GET("/v1/jobs/{job_id}/events", { params: { ...path, query } }));
    assert.ok(typeof page === "object" && "events" in page); // not a stream
    for (const event of page.events) kinds.add(event.kind);
    ({ next_after: after, end } = page);
  }
  for (const kind of ["state", "phase", "metric", "log"]) assert.ok(kinds.has(kind), kind);
  assert.equal(data(await user.GET("/v1/jobs/{job_id}", { params: path })).state, "succeeded");
  const log = await user.GET("/v1/jobs/{job_id}/log", { params: path, parseAs: "text" });
  assert.equal(typeof data(log), "string");
  const metrics = data(await user.GET("/metrics", { parseAs: "text" }));
  assert.ok(metrics.includes("ipulse_jobs"));
  assert.ok(data(await user.GET("/v1/jobs/{job_id}/profile", { params: path })));
  await download(job_id);
  return job_id;
}

async function upload(): Promise<string> {
  const spoken = { "IPUlse-Protocol": protocol };
  const body = { agent, device_kinds: ["ipu"] };
  const registered = await worker.POST("/v1/worker/agents", { body, params: { header: spoken } });
  assert.equal(registered.response.status, 204);
  const job = data(await user.POST("/v1/jobs", { body: { ...spec, device: { kind: "ipu" } } }));
  const request = { ...body, job_id: job.id };
  const claim = data(
    await worker.POST("/v1/worker/claims", { body: request, params: { header: spoken } }),
  );
  const fence = { "IPUlse-Fence": claim.fence };
  const path = { attempt_id: claim.attempt_id };
  const told = await worker.POST("/v1/worker/attempts/{attempt_id}/events", {
    params: { path, header: fence },
    body: { first: 1, events: [{ kind: "log", message: "hello" }] },
  });
  assert.equal(data(told).next, 2);
  const stored = await worker.PUT("/v1/worker/attempts/{attempt_id}/artifacts/{name}", {
    params: {
      path: { ...path, name: "upload.log" },
      query: { role: "log", sha256: digest, size: content.length },
      header: { ...fence, ...spoken },
    },
    body: "", // this generator's type of a file is string
    bodySerializer: () => content,
  });
  assert.equal(data(stored).sha256, digest);
  const finished = await worker.POST("/v1/worker/attempts/{attempt_id}/finish", {
    params: { path, header: fence },
    body: { reason: "diverged" },
  });
  assert.equal(data(finished).state, "failed");
  await download(job.id, "uploaded");
  return job.id;
}

assert.equal(data(await user.GET("/readyz")).status, "ok");
console.log(JSON.stringify({ trained: await train(), uploaded: await upload() }));
