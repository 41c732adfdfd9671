/** What a person can do on the page. Components call these; these call the server. */

import * as api from "./api";
import { Problem } from "./api";
import { hintSentence, sentence } from "./parts/words";
import { citationRoute, home, parseRoute, runRoute } from "./routes";
import { isLive, newRun, type RunView, runOfRecord } from "./run";
import { SENDING, type SourceTarget, turnOf } from "./state";
import { dispatch, getState } from "./store";
import type { Answer, Citation, Feedback, Job, SeenPassage, SettingsChange } from "./types";

let following: AbortController | null = null;
const followedJobs = new Set<string>();
let lastJob: Promise<void> = Promise.resolve();

// Beginning

/** Reads what the page needs before it can show anything; again after a token was given. */
export async function begin(): Promise<void> {
  await Promise.all([refreshSettings(), refreshDocuments(), refreshThreads(), followRoute()]);
}

async function refreshSettings(): Promise<void> {
  try {
    dispatch({ type: "settings", settings: await api.settings() });
  } catch (error) {
    report(error, (trouble) => dispatch({ type: "trouble", trouble }));
  }
}

/** Counts from the next question on. */
export function changeSettings(changes: SettingsChange): Promise<boolean> {
  return attempt(async () => {
    const { overridden, ...settings } = await api.changeSettings(changes);
    dispatch({ type: "settings", settings });
    const [instead] = Object.values(overridden);
    const until = instead ? ` When the server starts again, ${instead} counts instead.` : "";
    say(`This counts from your next question on.${until}`);
  });
}

export function rebuild(): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    await watchJob(library, await api.rebuild(library));
  });
}

export async function giveToken(token: string): Promise<Problem | null> {
  try {
    await api.signIn(token);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  dispatch({ type: "token wanted", wanted: false });
  await begin();
  return null;
}

/** A 401 asks for the token, wherever it comes from; everything else goes to `show`. */
function report(error: unknown, show: (problem: Problem) => void): void {
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) dispatch({ type: "token wanted", wanted: true });
  else show(error);
}

export function say(text: string, bad = false): void {
  dispatch({ type: "notice", notice: { text, bad } });
}

function sayProblem(problem: Problem): void {
  // While nothing is there yet, a server that is away is told in the middle of the page.
  if (getState().settings === null && problem.status === 0) return;
  // A hint may be a command: it stays as it is.
  say(
    [sentence(problem.message), hintSentence(problem.hint ?? "")].filter(Boolean).join(" "),
    true,
  );
}

/** Runs something whose failure is told at the foot of the page. True where it went well. */
export async function attempt(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    report(error, sayProblem);
    return false;
  }
}

// The library

export async function refreshDocuments(): Promise<void> {
  const library = getState().library;
  await attempt(async () => {
    const { documents, jobs } = await api.documents(library);
    dispatch({ type: "documents", library, documents, jobs });
    for (const job of jobs) if (isOpen(job)) void attempt(() => watchJob(library, job));
    if (getState().run === null) void refreshSuggestions();
  });
}

let waitingForSuggestions: ReturnType<typeof setTimeout> | undefined;

/** They take the server a while to make: it is asked again for as long as somebody waits. */
async function refreshSuggestions(tries = 20): Promise<void> {
  clearTimeout(waitingForSuggestions);
  const { library } = getState();
  try {
    const { questions, ready } = await api.suggestions(library);
    if (library !== getState().library) return;
    dispatch({ type: "suggestions", suggestions: questions });
    if (ready || tries === 0 || getState().run !== null) return;
    waitingForSuggestions = setTimeout(() => void refreshSuggestions(tries - 1), 1500);
  } catch {
    dispatch({ type: "suggestions", suggestions: [] }); // a nicety: without them the page works
  }
}

export function chooseLibrary(library: string): void {
  dispatch({ type: "library", library });
  void refreshDocuments();
  void refreshThreads();
}

/** Each part is one upload; the next is sent while the one before it is read. */
export function upload(parts: File[][]): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    const watched: Promise<boolean>[] = [];
    for (const files of parts) {
      const job = await sent(library, files);
      watched.push(attempt(() => watchJob(library, job)));
    }
    await Promise.all(watched);
  });
}

export function addText(text: string, title: string): Promise<boolean> {
  return adding((library) => api.addText(library, text, title));
}

/** Pages of the web, and what they link to on their site so many links away. */
export function addAddresses(addresses: string[], depth: number): Promise<boolean> {
  return adding((library) => api.addAddresses(library, addresses, depth));
}

function adding(start: (library: string) => Promise<Job>): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    dispatch({ type: "notice", notice: null }); // of an attempt before
    const job = await start(library);
    void attempt(() => watchJob(library, job));
  });
}

/** What a watch changed meanwhile is read anew. */
export async function refreshWatched(): Promise<void> {
  const { library, watched: before } = getState();
  await attempt(async () => {
    const watched = await api.watched(library);
    dispatch({ type: "watched", library, watched });
    if (before && before.changes !== watched.changes) await refreshDocuments();
  });
}

export function watchFolder(folder: string, on: boolean): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    dispatch({ type: "notice", notice: null });
    dispatch({ type: "watched", library, watched: await api.watchFolder(library, folder, on) });
  });
}

export function makeLibrary(title: string): Promise<boolean> {
  return attempt(async () => {
    const { name } = await api.makeLibrary(title);
    await refreshSettings();
    chooseLibrary(name);
  });
}

export function nameLibrary(title: string): Promise<boolean> {
  return attempt(async () => {
    await api.nameLibrary(getState().library, title);
    await refreshSettings();
  });
}

export function removeLibrary(): Promise<boolean> {
  return attempt(async () => {
    await api.removeLibrary(getState().library);
    chooseLibrary("default");
    location.hash = home;
    await refreshSettings();
  });
}

export function addSamples(): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    await watchJob(library, await api.addSamples(library));
  });
}

/** What is on its way is on the list at once: a large file takes a while to be sent. */
async function sent(library: string, files: File[]): Promise<Job> {
  const sending = sendingJob(files);
  dispatch({ type: "job", job: sending });
  try {
    const job = await api.upload(library, files);
    dispatch({ type: "job", job });
    return job;
  } finally {
    dispatch({ type: "job gone", id: sending.id });
  }
}

function sendingJob(files: File[]): Job {
  const waiting = { status: "waiting", share: 0, reason: null, document: null } as const;
  const named = files.map(({ name }) => ({ name, ...waiting }));
  const id = `${SENDING} ${performance.now()}`;
  return { id, status: "queued", stage: SENDING, files: named, share: 0, started: "", error: null };
}

export function reindex(document: string): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    await watchJob(library, await api.reindexDocument(library, document));
  });
}

export const removeDocument = (document: string): Promise<boolean> => removeDocuments([document]);

export function removeDocuments(documents: string[]): Promise<boolean> {
  return attempt(async () => {
    const { library } = getState();
    try {
      for (const one of documents) await api.removeDocument(library, one);
    } finally {
      await refreshDocuments();
    }
  });
}

export function stopJob(job: string): Promise<boolean> {
  return attempt(() => api.stopJob(getState().library, job));
}

const isOpen = (job: Job): boolean => job.status === "queued" || job.status === "running";

/** Shows a job as it goes on; afterwards the list of documents is read anew. Jobs are followed one
 * after the other, as the server does them: a browser has few connections to one server. */
async function watchJob(library: string, job: Job): Promise<void> {
  dispatch({ type: "job", job });
  if (followedJobs.has(job.id)) return;
  followedJobs.add(job.id);
  const before = lastJob;
  lastJob = before.catch(() => undefined).then(() => followJob(library, job));
  await lastJob;
}

async function followJob(library: string, job: Job): Promise<void> {
  const take = (batch: Job[]): boolean => {
    const latest = batch.at(-1);
    if (latest && !isOpen(latest)) sayWhatWasThere(latest);
    if (latest && library === getState().library) dispatch({ type: "job", job: latest });
    return latest !== undefined && !isOpen(latest);
  };
  try {
    if (isOpen(job)) {
      await api.followJob(library, job.id, { signal: new AbortController().signal, take });
    }
  } finally {
    followedJobs.delete(job.id);
  }
  await refreshDocuments();
}

/** Files that brought nothing new, which the list of documents does not show. */
function sayWhatWasThere({ files }: Job): void {
  const known = files.filter(
    ({ status, reason }) => status === "unchanged" || reason?.startsWith("same content as"),
  );
  const [first] = known;
  if (!first) return;
  const same = first.reason ? ` (${first.reason})` : "";
  const what = known.length > 1 ? `${known.length} of them are` : `${first.name} is`;
  say(`${what} in the library already${known.length > 1 ? "" : same}. Nothing had to be added.`);
}

export function limitTo(documents: string[]): void {
  dispatch({ type: "limit", documents });
}

// Questions

export interface AskOptions {
  /** null is the server's default, which decides by itself. */
  workflow: string | null;
  /** The run that the question follows. */
  after?: string | null;
  documents?: string[];
  /** Documents that are read although they give a model orders. */
  trust?: string[];
  /** False keeps the question off the web where the server may search it. */
  web?: boolean;
}

/** Shows the question at once; its address follows as soon as the server has named the run. */
export async function ask(question: string, options: AskOptions): Promise<void> {
  const { library, limitedTo, settings } = getState();
  const documents = options.documents ?? limitedTo;
  const after = options.after ?? null;
  stopFollowing();
  const workflow = options.workflow ?? settings?.workflow ?? "";
  const view = { ...newRun(question, library, workflow), after, trust: options.trust ?? [] };
  const isOnPage = () => getState().run === view;
  dispatch({ type: "run", run: view, earlier: turnsUpTo(after) });
  const { workflow: asked, web = true, trust = [] } = options;
  const limits = { documents, ...(web ? {} : { web }), ...(trust.length > 0 ? { trust } : {}) };
  const request = { question, library, workflow: asked, ...limits };
  try {
    const { run } = await api.ask(after ? { ...request, conversation: { after } } : request);
    void refreshThreads();
    if (!isOnPage()) return; // the person went elsewhere; it is among those asked before
    dispatch({ type: "run changed", id: null, changes: { id: run } });
    history.pushState(null, "", runRoute(run));
    await follow(run);
  } catch (error) {
    report(error, (problem) => isOnPage() && lose(null, problem));
  }
}

/** The turns on the page that a question after that run goes on from. */
function turnsUpTo(after: string | null): RunView[] {
  const { earlier, run } = getState();
  const turns = run ? [...earlier, run] : earlier;
  return turns.slice(0, turns.findIndex((turn) => turn.id === after && after !== null) + 1);
}

function lose(id: string | null, problem: Problem): void {
  dispatch({ type: "run changed", id, changes: { phase: "lost", problem } });
}

export function stopRun(): Promise<boolean> {
  return attempt(async () => {
    const run = getState().run;
    if (!run?.id || !isLive(run)) return;
    dispatch({ type: "run changed", id: run.id, changes: { phase: "stopping" } });
    await api.cancelRun(run.id);
  });
}

export function resumeRun(): Promise<boolean> {
  return attempt(async () => {
    const run = getState().run;
    if (!run?.id) return;
    await api.resumeRun(run.id);
    const anew = { ...newRun(run.question, run.library, run.workflow), id: run.id };
    const { earlier } = getState();
    dispatch({ type: "run", run: { ...anew, after: run.after, phase: "running" }, earlier });
    await follow(run.id);
  });
}

/** `all` reads every thread there is; it takes a server with many a moment. */
export async function refreshThreads(all = false): Promise<void> {
  const { library, search, threads } = getState();
  const limit = all || (threads?.length ?? 0) > FEW_THREADS ? MANY_THREADS : FEW_THREADS;
  await attempt(async () => {
    const found = await api.threads(library, search, limit);
    const now = getState();
    if (now.library === library && now.search === search) dispatch({ type: "threads", ...found });
  });
}

const FEW_THREADS = 15;
const MANY_THREADS = 500;

export function searchThreads(search: string): void {
  dispatch({ type: "search", search });
  void refreshThreads();
}

export function removeThread(id: string): Promise<boolean> {
  return attempt(async () => {
    const { earlier, run } = getState();
    await api.removeThread(id);
    if ((earlier[0] ?? run)?.id === id) location.hash = home;
    await refreshThreads();
  });
}

export function nameThread(id: string, title: string): Promise<boolean> {
  return attempt(async () => {
    await api.nameThread(id, title);
    dispatch({ type: "title", title });
    await refreshThreads();
  });
}

/** Said once more, it is taken back. */
export function judge(run: RunView, said: Feedback): Promise<boolean> {
  return attempt(async () => {
    if (!run.id) return;
    const feedback = run.feedback === said ? null : said;
    await api.judge(run.id, feedback);
    dispatch({ type: "run changed", id: run.id, changes: { feedback } });
  });
}

function stopFollowing(): void {
  following?.abort();
  following = null;
}

async function follow(id: string): Promise<void> {
  stopFollowing();
  const controller = new AbortController();
  following = controller;
  await api.followRun(id, {
    signal: controller.signal,
    take: (events) => {
      dispatch({ type: "events", id, events });
      for (const event of events) if (event.type === "answered") showFirstSource(event.answer);
      // A stop is no end for good: a run that was taken up again has one amid its events.
      return events.some((event) => event.type === "answered");
    },
    connection: (connected) => dispatch({ type: "run changed", id, changes: { connected } }),
    isOver: () => settle(id),
  });
  void refreshThreads();
}

/** The stream ended without an answer: what does the server say of the run? */
async function settle(id: string): Promise<boolean> {
  const record = await api.run(id);
  const view = runOfRecord(record);
  if (isLive(view)) return false;
  const { phase, answer } = view;
  if (answer) {
    dispatch({ type: "events", id, events: [{ type: "answered", run: id, answer }] });
    showFirstSource(answer);
  } else if (!["stopped", "lost"].includes(getState().run?.phase ?? ""))
    dispatch({ type: "run changed", id, changes: { phase } });
  return true;
}

async function openRun(id: string): Promise<void> {
  stopFollowing();
  try {
    const { title, runs } = await api.thread(id);
    if (parseRoute(location.hash).run !== id) return;
    const turns = runs.map(runOfRecord);
    const view = turns.pop();
    if (!view) return;
    const given = title === runs[0]?.question ? null : title;
    dispatch({ type: "run", run: view, earlier: turns, title: given });
    showCitation();
    if (view.answer && getState().source === null) showFirstSource(view.answer);
    if (view.id && (view.phase === "queued" || view.phase === "running")) await follow(view.id);
  } catch (error) {
    report(error, (problem) => {
      dispatch({ type: "run", run: { ...newRun("", getState().library, ""), id }, earlier: [] });
      lose(id, problem);
    });
  }
}

// Where the page is

export async function followRoute(): Promise<void> {
  const { run } = parseRoute(location.hash);
  if (run === null) {
    stopFollowing();
    if (getState().run !== null) dispatch({ type: "limit", documents: [] }); // a new start
    dispatch({ type: "run", run: null, earlier: [] });
    dispatch({ type: "sheet", sheet: null });
    void refreshSuggestions();
  } else if (turnOf(getState(), run)?.id === run) {
    showCitation();
  } else {
    dispatch({ type: "sheet", sheet: null });
    await openRun(run);
  }
}

/** Opens the source that the address names, or closes the one that it no longer names. */
function showCitation(): void {
  const { run, citation } = parseRoute(location.hash);
  const { source } = getState();
  const answer = turnOf(getState(), run)?.answer;
  const cited = answer?.citations.find((one) => one.number === citation);
  if (answer && cited) {
    openSource(targetOf(cited, answer.run));
  } else if (source?.number != null) {
    dispatch({ type: "source", source: null });
    dispatch({ type: "sheet", sheet: null });
  }
}

const targetOf = (citation: Citation, run: string, opened = true): SourceTarget => ({
  ...citation,
  run,
  opened,
  text: null,
});

/** Beside a new answer stands the first place that it rests on, where there is room for it. */
function showFirstSource(answer: Answer): void {
  if (getState().run?.id !== answer.run) return;
  const [first] = answer.citations;
  if (first) dispatch({ type: "source", source: targetOf(first, answer.run, false) });
}

export function openCitation(run: string, number: number): void {
  const there = citationRoute(run, number);
  if (location.hash === there) showCitation();
  else location.hash = there;
}

/** Opens a passage that no citation stands for. */
export function openPassage(passage: SeenPassage, run: string | null): void {
  openSource({ ...passage, run, opened: true, quote: null, number: null });
}

export function openSource(source: SourceTarget): void {
  dispatch({ type: "source", source });
  dispatch({ type: "sheet", sheet: "panel" });
}

/** Opens what is known of a table: its columns and first rows. */
export function openTable(table: string, run: string | null = null): void {
  dispatch({ type: "table", table, run });
  dispatch({ type: "sheet", sheet: "panel" });
}

export function showMade(run: string): void {
  dispatch({ type: "made", run });
  dispatch({ type: "sheet", sheet: "panel" });
}

/** Back from the source to how the answer was made. */
export function closeSource(): void {
  const { run, citation } = parseRoute(location.hash);
  if (run !== null && citation !== null) location.hash = runRoute(run);
  else dispatch({ type: "source", source: null });
}
