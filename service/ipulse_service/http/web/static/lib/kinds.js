// The kinds of jobs that train no network.

/**
 * By the kind of a spec: its schema, and the tabs of a job's page with nothing to show.
 * @type {Record<string, { schema: string, without: string[] } | undefined>}
 */
export const CODE_KINDS = {
  poplar_program: { schema: "PoplarProgramSpec", without: ["metrics", "spikes", "layers"] },
  script: { schema: "ScriptSpec", without: ["spikes", "layers"] },
};
