// Why jobs wait, in sentences.

/** The reasons of `waiting_on`. @type {Record<string, string>} */
export const WHY = {
  wake_up: "An agent is free and has been woken; it starts in a moment.",
  device_busy: "All agents that can run it are busy.",
  behind: "An agent is free, but other jobs come first.",
  no_agent: "No agent with this kind of device is present.",
  no_match: "No agent that is present can run it.",
  retry: "An attempt was lost; the next one starts in a moment.",
  paused: "It is paused.",
  quarantine: "The device that it needs has failed and is not used now.",
  agent_draining: "The agents that could run it take no more jobs.",
  dependency: "Other jobs must end first.",
  quota: "A quota is used up.",
  pool: "The pool that it asks for is not open to its project.",
  reservation: "The agents that could run it are reserved.",
  gang: "Too few IPUs of one machine are free at once.",
  fair_share: "Others have used less, so that their jobs come first.",
  compile: "Another trial of the sweep compiles the same executable.",
};
