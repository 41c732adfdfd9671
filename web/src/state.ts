/** Everything the page knows, and the one place where it changes. */

import type { Problem } from "./api";
import { type RunView, withEvent } from "./run";
import type {
  Doc,
  Job,
  LibrarySummary,
  RunEvent,
  Settings,
  Suggestion,
  ThreadSummary,
  Watched,
} from "./types";

/** A place in a document, to be shown with its words marked. */
export interface SourceTarget {
  /** The run whose answer it belongs to; null for what is opened from the library. */
  run: string | null;
  /** False where nobody asked for it: it is shown beside a new answer, and takes no focus. */
  opened: boolean;
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
export type Sheet = "library" | "panel" | "settings" | null;

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
  /** null until it was read. */
  watched: Watched | null;
  /** Of this library, those gone on with last first; `total` counts those not read yet as well. */
  threads: ThreadSummary[] | null;
  totalThreads: number;
  /** What the threads are searched for. */
  search: string;
  suggestions: Suggestion[] | null;
  /** The last question of the thread on the page, and those before it, oldest first. */
  run: RunView | null;
  earlier: RunView[];
  title: string | null;
  /** The turn that the panel is about; none is the last. */
  inView: string | null;
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
  watched: null,
  threads: null,
  totalThreads: 0,
  search: "",
  suggestions: null,
  run: null,
  earlier: [],
  title: null,
  inView: null,
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
  | { type: "watched"; library: string; watched: Watched }
  | { type: "job"; job: Job }
  | { type: "job gone"; id: string }
  | { type: "threads"; threads: ThreadSummary[]; total: number }
  | { type: "search"; search: string }
  | { type: "suggestions"; suggestions: Suggestion[] }
  | { type: "run"; run: RunView | null; earlier: RunView[]; title?: string | null }
  | { type: "title"; title: string | null }
  | { type: "run changed"; id: string | null; changes: Partial<RunView> }
  | { type: "events"; id: string; events: RunEvent[] }
  | { type: "limit"; documents: string[] }
  | { type: "panel"; panel: PanelView }
  | { type: "source"; source: SourceTarget | null }
  | { type: "table"; table: string | null; run?: string | null }
  | { type: "made"; run: string }
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
    case "watched":
      return action.library === state.library ? { ...state, watched: action.watched } : state;
    case "job":
      return { ...state, jobs: withJob(state.jobs, action.job) };
    case "job gone":
      return { ...state, jobs: state.jobs.filter((job) => job.id !== action.id) };
    case "threads":
      return { ...state, threads: action.threads, totalThreads: action.total };
    case "search":
      return { ...state, search: action.search };
    case "suggestions":
      return { ...state, suggestions: action.suggestions };
    case "run":
      return {
        ...state,
        ...onPage(state, action),
        panel: "made",
        ...nothingOpen,
        inView: null,
        notice: null,
      };
    case "title":
      return { ...state, title: action.title };
    case "run changed":
      return changeRun(state, action.id, (run) => ({ ...run, ...action.changes }));
    case "events":
      return changeRun(state, action.id, (run) => action.events.reduce(withEvent, run));
    case "limit":
      return { ...state, limitedTo: action.documents };
    case "panel":
      return { ...state, panel: action.panel };
    case "source":
      return {
        ...opened(state, { source: action.source, table: null }),
        inView: action.source?.run ?? state.inView,
      };
    case "table":
      return {
        ...opened(state, { source: null, table: action.table }),
        inView: action.run ?? null,
      };
    case "made":
      return { ...opened(state, nothingOpen), inView: action.run };
    case "sheet":
      return { ...state, sheet: action.sheet };
    case "notice":
      return { ...state, notice: action.notice };
  }
}

/** A run that goes on in the thread on the page leaves its title. */
function onPage(state: State, { run, earlier, title }: Extract<Action, { type: "run" }>) {
  const first = earlier[0]?.id;
  const same = first !== undefined && first === (state.earlier[0] ?? state.run)?.id;
  return { run, earlier, title: title ?? (same ? state.title : null) };
}

/** The turn of the thread that has this id; the last where none has. */
export function turnOf({ earlier, run }: State, id: string | null): RunView | null {
  return earlier.find((turn) => turn.id === id) ?? run;
}

const nothingOpen = { source: null, table: null };

function opened(state: State, what: Pick<State, "source" | "table">): State {
  const shown = what.source !== null || what.table !== null;
  return { ...state, ...what, panel: shown ? "source" : "made" };
}

/** What is said of a run that is no longer the one on the page is let go. */
function changeRun(state: State, id: string | null, change: (run: RunView) => RunView): State {
  if (state.run !== null && state.run.id === id) return { ...state, run: change(state.run) };
  const place = state.earlier.findIndex((turn) => turn.id === id);
  const turn = state.earlier[place];
  return turn ? { ...state, earlier: state.earlier.with(place, change(turn)) } : state;
}

function withLibrary(state: State, library: string): State {
  if (library === state.library) return state;
  return {
    ...state,
    library,
    documents: null,
    jobs: [],
    watched: null,
    ...notReadYet,
    limitedTo: [],
  };
}

const notReadYet = { threads: null, totalThreads: 0, search: "", suggestions: null };

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
