/** Everything the page knows, and the one place where it changes. */

import type { Problem } from "./api";
import { type RunView, withEvent } from "./run";
import type { Doc, Job, LibrarySummary, RunEvent, RunSummary, Settings, Suggestion } from "./types";

/** A place in a document, to be shown with its words marked. */
export interface SourceTarget {
  document: string;
  title: string;
  page: number | null;
  start: number;
  end: number;
  /** The words to mark; none where a whole passage is meant. */
  quote: string | null;
  /** As printed in the answer; null for what is not cited. */
  number: number | null;
  origin: "library" | "web";
  url: string | null;
  /** Of a web page: its text as it was read. */
  text: string | null;
}

export type PanelView = "made" | "source";
export type Sheet = "library" | "panel" | null;

export interface State {
  settings: Settings | null;
  /** Why the page cannot work at all: the server is away, or said no. */
  trouble: Problem | null;
  tokenWanted: boolean;
  library: string;
  libraries: LibrarySummary[];
  /** null until they were read for the first time. */
  documents: Doc[] | null;
  jobs: Job[];
  runs: RunSummary[] | null;
  suggestions: Suggestion[] | null;
  run: RunView | null;
  /** Ids of the documents that the next question is limited to; all where it is empty. */
  limitedTo: string[];
  panel: PanelView;
  source: SourceTarget | null;
  /** Id of the table whose columns and first rows the panel shows in place of a source. */
  table: string | null;
  /** On a narrow window: what lies over the answer. */
  sheet: Sheet;
  /** Said once, at the foot of the page and to screen readers. */
  notice: { text: string; bad: boolean } | null;
}

export const initialState: State = {
  settings: null,
  trouble: null,
  tokenWanted: false,
  library: "default",
  libraries: [],
  documents: null,
  jobs: [],
  runs: null,
  suggestions: null,
  run: null,
  limitedTo: [],
  panel: "made",
  source: null,
  table: null,
  sheet: null,
  notice: null,
};

export type Action =
  | { type: "settings"; settings: Settings }
  | { type: "trouble"; trouble: Problem | null }
  | { type: "token wanted"; wanted: boolean }
  | { type: "library"; library: string }
  | { type: "libraries"; libraries: LibrarySummary[] }
  | { type: "documents"; library: string; documents: Doc[]; jobs: Job[] }
  | { type: "job"; job: Job }
  | { type: "job gone"; id: string }
  | { type: "runs"; runs: RunSummary[] }
  | { type: "suggestions"; suggestions: Suggestion[] }
  | { type: "run"; run: RunView | null }
  | { type: "run changed"; id: string | null; changes: Partial<RunView> }
  | { type: "events"; id: string; events: RunEvent[] }
  | { type: "limit"; documents: string[] }
  | { type: "panel"; panel: PanelView }
  | { type: "source"; source: SourceTarget | null }
  | { type: "table"; table: string | null }
  | { type: "sheet"; sheet: Sheet }
  | { type: "notice"; notice: State["notice"] };

export function reduce(state: State, action: Action): State {
  switch (action.type) {
    case "settings":
      return { ...state, settings: action.settings, trouble: null, tokenWanted: false };
    case "trouble":
      return { ...state, trouble: action.trouble };
    case "token wanted":
      return { ...state, tokenWanted: action.wanted };
    case "library":
      return withLibrary(state, action.library);
    case "libraries":
      return { ...state, libraries: action.libraries };
    case "documents":
      return withDocuments(state, action);
    case "job":
      return { ...state, jobs: withJob(state.jobs, action.job) };
    case "job gone":
      return { ...state, jobs: state.jobs.filter((job) => job.id !== action.id) };
    case "runs":
      return { ...state, runs: action.runs };
    case "suggestions":
      return { ...state, suggestions: action.suggestions };
    case "run":
      return { ...state, run: action.run, panel: "made", ...nothingOpen, notice: null };
    case "run changed":
      return changeRun(state, action.id, (run) => ({ ...run, ...action.changes }));
    case "events":
      return changeRun(state, action.id, (run) => action.events.reduce(withEvent, run));
    case "limit":
      return { ...state, limitedTo: action.documents };
    case "panel":
      return { ...state, panel: action.panel };
    case "source":
      return opened(state, { source: action.source, table: null });
    case "table":
      return opened(state, { source: null, table: action.table });
    case "sheet":
      return { ...state, sheet: action.sheet };
    case "notice":
      return { ...state, notice: action.notice };
  }
}

const nothingOpen = { source: null, table: null };

function opened(state: State, what: Pick<State, "source" | "table">): State {
  const shown = what.source !== null || what.table !== null;
  return { ...state, ...what, panel: shown ? "source" : "made" };
}

/** What is said of a run that is no longer the one on the page is let go. */
function changeRun(state: State, id: string | null, change: (run: RunView) => RunView): State {
  if (state.run === null || state.run.id !== id) return state;
  return { ...state, run: change(state.run) };
}

function withLibrary(state: State, library: string): State {
  if (library === state.library) return state;
  return { ...state, library, documents: null, jobs: [], suggestions: null, limitedTo: [] };
}

type Documents = Extract<Action, { type: "documents" }>;

function withDocuments(state: State, { library, documents, jobs }: Documents): State {
  if (library !== state.library) return state;
  const here = new Set(documents.map((document) => document.id));
  const limitedTo = state.limitedTo.filter((id) => here.has(id));
  const sending = state.jobs.filter(isSending);
  return { ...state, documents, jobs: [...sending, ...jobs], limitedTo };
}

/** Files on their way to the server, which does not know of them yet. */
export const isSending = (job: Pick<Job, "stage">): boolean => job.stage === SENDING;
export const SENDING = "sending";

function withJob(jobs: Job[], job: Job): Job[] {
  const known = jobs.some((other) => other.id === job.id);
  return known ? jobs.map((other) => (other.id === job.id ? job : other)) : [...jobs, job];
}
