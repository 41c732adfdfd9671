import { useEffect, useState } from "react";
import type { Job } from "../types";
import { type Row, withoutRow, withTurnedAway } from "./rows";

/**
 * Files that a job could not take in.
 *
 * The server's list of jobs forgets a job once it has ended; the person must still be told what
 * became of each file, until they have seen it.
 */
export function useTurnedAway(jobs: readonly Job[]) {
  const [turnedAway, setTurnedAway] = useState<readonly Job[]>([]);
  useEffect(() => setTurnedAway((known) => withTurnedAway(known, jobs)), [jobs]);
  const dismiss = (row: Row) => setTurnedAway((known) => withoutRow(known, row));
  return { turnedAway, dismiss };
}
