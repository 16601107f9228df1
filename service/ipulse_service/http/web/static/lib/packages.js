// Packages of neurons that the service accepts: signed off, and on an agent that is present.
import { api } from "./api.js";

const DIGITS = 12; // of a digest that is shown

/** @typedef {{package: string, version: string, parameters: any[]}} Package */

/** The packages of all agents that are present, each once. @param {any[]} agents @returns {Package[]} */
function packagesOf(agents) {
  const present = agents.filter(({ state }) => state !== "offline").flatMap((agent) => agent.neuron_packages ?? []);
  return [...new Map(present.map((one) => [one.package, one])).values()].sort((a, b) =>
    a.package < b.package ? -1 : 1,
  );
}

/** @param {AbortSignal} [signal] @returns {Promise<Package[]>} none if the service does not say */
export async function acceptedPackages(signal) {
  const { agents } = await api.get("/v1/agents", { signal }).catch(() => ({ agents: [] }));
  return packagesOf(agents);
}

/** "coupled_dendrites" of a reference. @param {string} reference */
export const packageName = (reference) => reference.split("@")[0];

/** The first digits of a reference's digest. @param {string} reference */
export const packageDigits = (reference) => (reference.split("sha256:")[1] ?? "").slice(0, DIGITS);
