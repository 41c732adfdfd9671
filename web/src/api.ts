/** Every call that the page makes. What goes wrong comes back as one kind of error: `Problem`. */

import { eventBatches, type ServerEvent } from "./sse";
import type {
  AskRequest,
  Doc,
  Feedback,
  Fetch,
  Graph,
  Job,
  LibrarySummary,
  Models,
  PassageText,
  Place,
  ProblemDetails,
  RunEvent,
  RunRecord,
  Settings,
  SettingsChange,
  SettingsChanged,
  SourceText,
  Suggestion,
  TableView,
  Thread,
  ThreadSummary,
  Verification,
  Watched,
} from "./types";

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly hint: string | null,
    readonly retryAfter: number | null = null,
  ) {
    super(detail || title);
  }
}

const UNREACHABLE = new Problem(
  0,
  "unreachable",
  "The server does not answer",
  "Secondlook's server cannot be reached.",
  "Is `secondlook serve` still running?",
);

export function problemFrom(
  details: ProblemDetails,
  status: number,
  retryAfter: number | null = null,
): Problem {
  return new Problem(
    status,
    details.code ?? `http_${status}`,
    details.title ?? "The request failed",
    details.detail ?? `The server answered ${status}.`,
    details.hint ?? null,
    retryAfter,
  );
}

async function problemOf(response: Response): Promise<Problem> {
  const details: ProblemDetails = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get("Retry-After"));
  return problemFrom(details, response.status, wait > 0 ? wait : null);
}

async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("X-Secondlook", "1");
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw UNREACHABLE;
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send(path, signal ? { signal } : {})).json() as Promise<T>;
}

const withBody = (method: "POST" | "PUT", body: unknown): RequestInit => ({
  method,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return (await send(path, withBody("POST", body))).json() as Promise<T>;
}

async function put<T>(path: string, body: unknown): Promise<T> {
  const response = await send(path, withBody("PUT", body));
  return (response.status === 204 ? undefined : await response.json()) as T;
}

async function remove<T>(path: string): Promise<T> {
  return (await send(path, { method: "DELETE" })).json() as Promise<T>;
}

const at = (...parts: string[]): string => `/api/${parts.map(encodeURIComponent).join("/")}`;

function query(values: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}` : "";
}

// The server and its settings

export const signIn = async (token: string): Promise<void> => {
  await send(at("session"), withBody("POST", { token }));
};
export const settings = (): Promise<Settings> => get(at("settings"));
export const changeSettings = async (changes: SettingsChange): Promise<SettingsChanged> =>
  (await send(at("settings"), withBody("PUT", changes))).json() as Promise<SettingsChanged>;
export const models = (address: string | null): Promise<Models> =>
  get(at("models") + query({ address }));
export const fetchModel = (name: string): Promise<Fetch> => post(at("models", "fetches"), { name });
export const fetchOf = (name: string): Promise<Fetch> => get(at("models", "fetches", name));
export const stopFetch = (name: string): Promise<Fetch> => remove(at("models", "fetches", name));
export const graph = (name: string): Promise<Graph> => get(at("graphs", name));

// The library

export const libraries = (): Promise<LibrarySummary[]> => get(at("libraries"));
export const documents = (library: string): Promise<{ documents: Doc[]; jobs: Job[] }> =>
  get(at("libraries", library, "documents") + query({ limit: 1000 }));
export const upload = async (library: string, files: File[]): Promise<Job> => {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  const init = { method: "POST", body: form };
  return (await send(at("libraries", library, "documents"), init)).json() as Promise<Job>;
};
export const job = (library: string, id: string): Promise<Job> =>
  get(at("libraries", library, "jobs", id));
export const addSamples = (library: string): Promise<Job> =>
  post(at("libraries", library, "samples"));
export const addText = (library: string, text: string, title: string): Promise<Job> =>
  post(at("libraries", library, "texts"), { text, title });
export const addAddresses = (library: string, addresses: string[], depth: number): Promise<Job> =>
  post(at("libraries", library, "addresses"), { addresses, depth });
export const watched = (library: string): Promise<Watched> =>
  get(at("libraries", library, "watched"));
export const watchFolder = (library: string, folder: string, on: boolean): Promise<Watched> =>
  put(at("libraries", library, "watched"), { folder, on });
export const makeLibrary = (title: string): Promise<{ name: string }> =>
  post(at("libraries"), { title });
export const nameLibrary = (library: string, title: string): Promise<{ name: string }> =>
  put(at("libraries", library), { title });
export const removeLibrary = async (library: string): Promise<void> => {
  await send(at("libraries", library), { method: "DELETE" });
};
export const stopJob = async (library: string, id: string): Promise<void> => {
  await send(at("libraries", library, "jobs", id), { method: "DELETE" });
};
export const removeDocument = async (library: string, id: string): Promise<void> => {
  await send(at("libraries", library, "documents", id), { method: "DELETE" });
};
export const rebuild = (library: string): Promise<Job> => post(at("libraries", library, "rebuild"));
export const reindexDocument = (library: string, id: string): Promise<Job> =>
  post(at("libraries", library, "documents", id, "reindex"));
export const documentText = (
  library: string,
  id: string,
  where: { page?: number | null; start?: number; end?: number },
  signal?: AbortSignal,
): Promise<SourceText> =>
  get(at("libraries", library, "documents", id, "text") + query(where), signal);
export const originalUrl = (library: string, id: string, page: number | null): string =>
  at("libraries", library, "documents", id, "original") + (page ? `#page=${page}` : "");
export const pageUrl = (library: string, id: string, page: number, width: number): string =>
  at("libraries", library, "documents", id, "pages", `${page}`) + query({ width });
export const places = (
  library: string,
  id: string,
  where: { start: number; end: number },
  signal: AbortSignal,
): Promise<{ text: string; places: Place[] }> =>
  get(at("libraries", library, "documents", id, "places") + query(where), signal);
export const passage = (library: string, id: string): Promise<PassageText> =>
  get(at("libraries", library, "passages", id));
export const table = (library: string, id: string, rows = 20): Promise<TableView> =>
  get(at("libraries", library, "tables", id) + query({ rows }));
export const suggestions = (
  library: string,
): Promise<{ questions: Suggestion[]; ready: boolean }> =>
  get(at("libraries", library, "suggestions"));

// Questions and their runs

export const ask = (request: AskRequest): Promise<{ run: string }> =>
  post(at("ask"), { ...request, detach: true });
export const threads = (
  library: string,
  search: string,
  limit: number,
): Promise<{ threads: ThreadSummary[]; total: number }> =>
  get(at("threads") + query({ library, search, limit }));
export const thread = (run: string): Promise<Thread> => get(at("threads", run));
export const nameThread = (run: string, title: string): Promise<void> =>
  put(at("threads", run), { title });
export const removeThread = async (run: string): Promise<void> => {
  await send(at("threads", run), { method: "DELETE" });
};
export const threadUrl = (run: string): string => at("threads", run, "export");
export const run = (id: string): Promise<RunRecord> => get(at("runs", id));
export const cancelRun = (id: string): Promise<{ id: string; status: string }> =>
  post(at("runs", id, "cancel"));
export const resumeRun = (id: string): Promise<{ run: string }> => post(at("runs", id, "resume"));
export const judge = (id: string, feedback: Feedback | null): Promise<void> =>
  put(at("runs", id, "feedback"), { feedback });
export const verifyRun = (id: string): Promise<Verification> => post(at("runs", id, "verify"));
export const exportUrl = (id: string, format: "markdown" | "json"): string =>
  at("runs", id, "export") + query({ format });
export const figureUrl = (id: string, figure: number): string =>
  at("runs", id, "export") + query({ format: "html", figure });
export const exportText = async (id: string, format: "markdown"): Promise<string> =>
  (await send(exportUrl(id, format))).text();

// Streams

const WAITS = [500, 1000, 2000, 4000, 8000];
const WORTH_RETRYING = (error: unknown): boolean =>
  error instanceof Problem && (error.status === 0 || error.status === 503 || error.status === 429);

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

interface Following<T> {
  path: string;
  signal: AbortSignal;
  /** True once there is nothing more to come. */
  take: (batch: T[], lastId: number) => boolean;
  /** The line was cut, or is up again. */
  connection?: (up: boolean) => void;
  /** A stream that ended early: is there more to come at all? */
  isOver: () => Promise<boolean>;
}

/** Reads a stream to its end, taking it up where it was cut, for as long as `signal` lets it. */
async function follow<T>(following: Following<T>): Promise<void> {
  const { path, signal, take, connection, isOver } = following;
  let lastId = 0;
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      const headers = lastId > 0 ? { "Last-Event-ID": String(lastId) } : undefined;
      const init = headers ? { signal, headers } : { signal };
      for await (const batch of eventBatches(await send(path, init))) {
        if (signal.aborted) return;
        connection?.(true);
        tries = 0;
        lastId = Math.max(lastId, ...batch.map((event) => Number(event.id) || 0));
        if (take(batch.map(parse<T>), lastId)) return;
      }
      if (await isOver()) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && !WORTH_RETRYING(error)) throw error;
    }
    connection?.(false);
    await pause(WAITS[Math.min(tries, WAITS.length - 1)] ?? 8000, signal);
  }
}

const parse = <T>(event: ServerEvent): T => JSON.parse(event.data) as T;

export function followRun(
  id: string,
  options: Pick<Following<RunEvent>, "signal" | "take" | "connection" | "isOver">,
): Promise<void> {
  return follow<RunEvent>({ path: at("runs", id, "events"), ...options });
}

export function followJob(
  library: string,
  id: string,
  options: Pick<Following<Job>, "signal" | "take">,
): Promise<void> {
  const isOver = async () => options.take([await job(library, id)], 0);
  return follow<Job>({ path: at("libraries", library, "jobs", id, "events"), isOver, ...options });
}
