/** What the server sends: answers, the events of a run as in docs/runs.md, the rest as in /docs. */

import type { Answer, Scalar, SeenPassage, Status, Trouble } from "./answer";

export type * from "./answer";

/** What a server says of something that went wrong (RFC 9457). */
export interface ProblemDetails {
  status?: number;
  code?: string;
  title?: string;
  detail?: string;
  hint?: string | null;
}

interface OfRun {
  run: string;
  at?: number;
}

export type RunEvent = OfRun &
  (
    | { type: "queued"; position: number }
    | { type: "run_started"; question: string; workflow: string }
    | { type: "node_started"; node: string; workflow?: string | null }
    | {
        type: "node_finished";
        node: string;
        workflow?: string | null;
        said: string;
        numbers: Record<string, Scalar>;
        seconds: number;
      }
    | { type: "routed"; source: string; to: string; why: string; workflow?: string | null }
    | { type: "passages_found"; query: string; passages: SeenPassage[] }
    | { type: "token"; text: string }
    | { type: "redrafted"; why: string }
    | { type: "warned"; trouble: Trouble }
    | { type: "answered"; answer: Answer }
    | { type: "stopped"; why: string; problem?: ProblemDetails | null }
  );

export type RunStatus = "queued" | "running" | "interrupted" | "stopped" | Status;

export type Feedback = "right" | "wrong" | "should_have_answered";

export interface RunSummary {
  id: string;
  question: string;
  workflow: string | null;
  status: RunStatus;
  stop_reason: string | null;
  started: string;
  short: string | null;
  after: string | null;
  library: string | null;
}

export interface RunRecord {
  id: string;
  question: string;
  workflow: string | null;
  status: RunStatus;
  position: number | null;
  started: string;
  after: string | null;
  library: string | null;
  feedback: Feedback | null;
  answer: Answer | null;
}

/** Questions that follow each other. It goes by its first run. */
export interface ThreadSummary {
  id: string;
  title: string;
  library: string | null;
  /** Newest first. */
  runs: RunSummary[];
}

export interface Thread {
  id: string;
  title: string;
  /** Oldest first. */
  runs: RunRecord[];
}

export interface Settings {
  version: string;
  workflows: { name: string; about: string }[];
  workflow: string;
  model: string | null;
  web_search: boolean;
  max_risk: number | null;
  language: string;
  languages: string[];
  analyst_extra: boolean;
  install_analyst: string;
  limits: { question_characters: number; upload_bytes: number; files_per_upload: number };
  token_required: boolean;
  libraries: string[];
  /** What each library is called, by its name. */
  titles: Record<string, string>;
  /** Libraries that were made here, and can be deleted. */
  own: string[];
  sandbox: string | null;
}

/** What is left out stays. */
export interface SettingsChange {
  model?: string;
  address?: string | null;
  web_search?: boolean;
  max_risk?: number | null;
  language?: string;
}

export interface SettingsChanged extends Settings {
  /** By setting: what will count instead when the server starts again. */
  overridden: Record<string, string>;
}

export interface UsableModel {
  name: string;
  address: string | null;
  about: string;
  local: boolean;
  size: number | null;
  fix: string | null;
  chosen: boolean;
}

export interface Fetch {
  name: string;
  status: "running" | "checking" | "stopping" | "done" | "failed" | "stopped";
  done: number;
  size: number;
  error: string | null;
  hint: string | null;
}

export interface KnownModel {
  name: string;
  licence: string;
  gigabytes: number;
  memory: number;
  about: string;
  fetch: Fetch | null;
}

export interface Models {
  roles: { role: string; workflow: string | null; model: string; local: boolean | null }[];
  usable: UsableModel[];
  known: KnownModel[];
}

export interface LibrarySummary {
  name: string;
  language: string;
  path: string | null;
  documents: number;
  tables: number;
  passages: number;
  failed: number;
  bytes: number;
  writing: boolean;
}

export interface Doc {
  id: string;
  title: string;
  name: string;
  kind: string;
  pages: number | null;
  passages: number;
  characters: number;
  language: string | null;
  author: string | null;
  date: string | null;
  added: string | null;
  status: "ready" | "failed";
  reason: string | null;
  tables: { id: string; name: string; rows: number; columns: number }[];
  has_original: boolean;
  /** Of the web page that it was read from. */
  address?: string | null;
}

/** Folders that a library is kept in step with. */
export interface Watched {
  folders: { folder: string; waits: string }[];
  /** Whether this client may name folders by their path. */
  allowed: boolean;
  /** Goes up with every file that a watch changed. */
  changes: number;
}

export interface JobFile {
  name: string;
  status: "waiting" | "indexing" | "ready" | "failed" | "unchanged";
  share: number;
  reason: string | null;
  document: string | null;
}

export interface Job {
  id: string;
  status: "queued" | "running" | "done" | "failed" | "stopped";
  stage: string;
  files: JobFile[];
  share: number;
  started: string | null;
  error: string | null;
}

export interface Graph {
  name: string;
  about: string;
  nodes: { id: string; label: string }[];
  edges: { source: string; target: string; conditional: boolean }[];
  mermaid: string;
}

export interface SourceText {
  document: string;
  title: string;
  page: number | null;
  pages: number | null;
  start: number;
  end: number;
  text: string;
  heading: string | null;
  previous_page: number | null;
  next_page: number | null;
}

/** Left, top, right and bottom, as shares of a page. */
export type Rectangle = [number, number, number, number];

/** Where quoted words stand on a page; nowhere if they were not found with certainty. */
export interface Place {
  page: number;
  rectangles: Rectangle[];
}

export interface PassageText {
  id: string;
  document: string;
  title: string;
  page: number | null;
  start: number;
  end: number;
  text: string;
  heading: string | null;
}

export interface TableView {
  id: string;
  name: string;
  title: string;
  document: string | null;
  columns: {
    name: string;
    type: string;
    missing: number;
    distinct: number;
    about: string | null;
  }[];
  rows: Scalar[][];
  warnings: string[];
}

export interface Suggestion {
  question: string;
  why: string;
}

export interface Finding {
  kind: string;
  where: string;
  message: string;
}

export interface Verification {
  ok: boolean;
  problems: Finding[];
  /** What could not be checked, or is worth knowing. */
  notes: Finding[];
  checked: { claims: number; citations: number; tables: number };
}

export interface AskRequest {
  question: string;
  library: string;
  workflow: string | null;
  documents: string[];
  trust?: string[];
  web?: boolean;
  conversation?: { after: string };
}
