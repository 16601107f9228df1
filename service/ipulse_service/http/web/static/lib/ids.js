// Ids of jobs as people write them: whole, by their beginning, `latest` or `latest~1`; keys of
// submissions.
import { api } from "./api.js";

/**
 * The id of the job that a text names; the text itself if it names none or several.
 * @param {string} text
 * @param {AbortSignal} signal
 */
export async function fullId(text, signal) {
  if (/^job_[0-9a-f]{24}$/.test(text)) return text;
  const back = /^latest(?:~([0-9]{1,2}))?$/.exec(text);
  const query = back
    ? { page_size: Number(back[1] ?? 0) + 1 }
    : /^(job_)?[0-9a-f]{4,}$/.test(text)
      ? { id_prefix: text.startsWith("job_") ? text : `job_${text}`, page_size: 2 }
      : null;
  if (!query) return text;
  const { jobs } = await api.get("/v1/jobs", { query, signal });
  if (back) return jobs[query.page_size - 1]?.id ?? text;
  return jobs.length === 1 ? jobs[0].id : text;
}

/** A key by which the service knows a submission that is sent again. */
export const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");

/** Whether the key has already made something of another content. @param {any} error */
export const isKeyUsed = (error) => error.code === "idempotency_key_reused";
