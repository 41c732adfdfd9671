/** What a person can do on the page. Components call these; these call the server. */

import * as api from "./api";
import { Problem } from "./api";
import { hintSentence, sentence } from "./parts/words";
import { citationRoute, home, parseRoute, runRoute } from "./routes";
import { isLive, newRun, runOfRecord } from "./run";
import { SENDING, type SourceTarget } from "./state";
import { dispatch, getState } from "./store";
import type { Citation, Job, SeenPassage } from "./types";

let following: AbortController | null = null;
const followedJobs = new Set<string>();
let lastJob: Promise<void> = Promise.resolve();

// Beginning

/** Reads what the page needs before it can show anything; again after a token was given. */
export async function begin(): Promise<void> {
  await Promise.all([refreshSettings(), refreshDocuments(), refreshRuns(), followRoute()]);
}

async function refreshSettings(): Promise<void> {
  try {
    dispatch({ type: "settings", settings: await api.settings() });
  } catch (error) {
    report(error, (trouble) => dispatch({ type: "trouble", trouble }));
  }
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
}

export function upload(files: File[]): Promise<boolean> {
  if (files.length === 0) return Promise.resolve(true);
  return attempt(async () => {
    const { library } = getState();
    await watchJob(library, await sent(library, files));
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

export function removeDocument(document: string): Promise<boolean> {
  return attempt(async () => {
    await api.removeDocument(getState().library, document);
    await refreshDocuments();
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
  dispatch({ type: "run", run: view });
  const { workflow: asked, web = true, trust = [] } = options;
  const limits = { documents, ...(web ? {} : { web }), ...(trust.length > 0 ? { trust } : {}) };
  const request = { question, library, workflow: asked, ...limits };
  try {
    const { run } = await api.ask(after ? { ...request, conversation: { after } } : request);
    void refreshRuns();
    if (!isOnPage()) return; // the person went elsewhere; it is among those asked before
    dispatch({ type: "run changed", id: null, changes: { id: run } });
    history.pushState(null, "", runRoute(run));
    await follow(run);
  } catch (error) {
    report(error, (problem) => isOnPage() && lose(null, problem));
  }
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
    dispatch({ type: "run", run: { ...anew, after: run.after, phase: "running" } });
    await follow(run.id);
  });
}

export function removeRun(id: string): Promise<boolean> {
  return attempt(async () => {
    await api.removeRun(id);
    if (getState().run?.id === id) location.hash = home;
    await refreshRuns();
  });
}

export async function refreshRuns(): Promise<void> {
  await attempt(async () => dispatch({ type: "runs", runs: (await api.runs()).runs }));
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
      // A stop is no end for good: a run that was taken up again has one amid its events.
      return events.some((event) => event.type === "answered");
    },
    connection: (connected) => dispatch({ type: "run changed", id, changes: { connected } }),
    isOver: () => settle(id),
  });
  void refreshRuns();
}

/** The stream ended without an answer: what does the server say of the run? */
async function settle(id: string): Promise<boolean> {
  const record = await api.run(id);
  const view = runOfRecord(record);
  if (isLive(view)) return false;
  const { phase, answer } = view;
  if (answer) dispatch({ type: "events", id, events: [{ type: "answered", run: id, answer }] });
  else if (!["stopped", "lost"].includes(getState().run?.phase ?? ""))
    dispatch({ type: "run changed", id, changes: { phase } });
  return true;
}

async function openRun(id: string): Promise<void> {
  stopFollowing();
  try {
    const view = runOfRecord(await api.run(id));
    if (parseRoute(location.hash).run !== id) return;
    dispatch({ type: "run", run: view });
    showCitation();
    if (view.phase === "queued" || view.phase === "running") await follow(id);
  } catch (error) {
    report(error, (problem) => {
      dispatch({ type: "run", run: { ...newRun("", getState().library, ""), id } });
      lose(id, problem);
    });
  }
}

// Where the page is

export async function followRoute(): Promise<void> {
  const { run } = parseRoute(location.hash);
  if (run === null) {
    stopFollowing();
    dispatch({ type: "run", run: null });
    dispatch({ type: "sheet", sheet: null });
    void refreshSuggestions();
  } else if (getState().run?.id === run) {
    showCitation();
  } else {
    dispatch({ type: "sheet", sheet: null });
    await openRun(run);
  }
}

/** Opens the source that the address names, or closes the one that it no longer names. */
function showCitation(): void {
  const { citation } = parseRoute(location.hash);
  const { run, source } = getState();
  const cited = run?.answer?.citations.find((one) => one.number === citation);
  if (cited) {
    dispatch({ type: "source", source: targetOf(cited) });
    dispatch({ type: "sheet", sheet: "panel" });
  } else if (source?.number != null) {
    dispatch({ type: "source", source: null });
    dispatch({ type: "sheet", sheet: null });
  }
}

const targetOf = (citation: Citation): SourceTarget => ({ ...citation, text: null });

export function openCitation(number: number): void {
  const run = getState().run?.id;
  if (!run) return;
  const there = citationRoute(run, number);
  if (location.hash === there) showCitation();
  else location.hash = there;
}

/** Opens a passage that no citation stands for. */
export function openPassage(passage: SeenPassage): void {
  openSource({ ...passage, quote: null, number: null });
}

export function openSource(source: SourceTarget): void {
  dispatch({ type: "source", source });
  dispatch({ type: "sheet", sheet: "panel" });
}

/** Opens what is known of a table: its columns and first rows. */
export function openTable(table: string): void {
  dispatch({ type: "table", table });
  dispatch({ type: "sheet", sheet: "panel" });
}

/** Back from the source to how the answer was made. */
export function closeSource(): void {
  const { run, citation } = parseRoute(location.hash);
  if (run !== null && citation !== null) location.hash = runRoute(run);
  else dispatch({ type: "source", source: null });
}
