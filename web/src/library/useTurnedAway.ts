import { useEffect, useState } from "react";
import type { Job } from "../types";
import { failedFiles, isActive, keyOfFile } from "./rows";

/**
 * Files that a job could not take in.
 *
 * The server's list of jobs forgets a job once it has ended; the person must still be told what
 * became of each file, until they have seen it.
 */
export function useTurnedAway(jobs: readonly Job[]) {
  const [turnedAway, setTurnedAway] = useState<Job[]>([]);
  useEffect(() => {
    const ended = jobs.filter((job) => !isActive(job) && failedFiles(job).length > 0);
    if (ended.length === 0) return;
    setTurnedAway((known) => {
      const fresh = ended.filter((job) => !known.some(({ id }) => id === job.id));
      return fresh.length > 0 ? [...known, ...fresh] : known;
    });
  }, [jobs]);
  const dismiss = (key: string) =>
    setTurnedAway((known) =>
      known.map((job) => without(job, key)).filter((job) => job.files.length),
    );
  return { turnedAway, dismiss };
}

function without(job: Job, key: string): Job {
  return { ...job, files: job.files.filter((file) => keyOfFile(job, file) !== key) };
}
