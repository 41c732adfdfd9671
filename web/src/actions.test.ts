import { beforeEach, expect, test, vi } from "vitest";
import * as actions from "./actions";
import { dispatch, getState } from "./store";
import type { Answer, Job } from "./types";

type Reply = (init: RequestInit) => Response | Promise<Response>;

const json = (body: object, status = 200) => new Response(JSON.stringify(body), { status });
const events = (...all: object[]) =>
  new Response(all.map((one, at) => `id: ${at + 1}\ndata: ${JSON.stringify(one)}\n\n`).join(""));

const quiet: Record<string, Reply> = {
  "GET /api/threads": () => json({ threads: [], total: 0 }),
  "GET /api/libraries/default/documents": () => json({ documents: [], jobs: [] }),
  "GET /api/libraries/default/suggestions": () => json({ questions: [], ready: true }),
};

/** A server of which only these replies are known; everything else is a 404. */
function serve(replies: Record<string, Reply>): string[] {
  const known = { ...quiet, ...replies };
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    const name = `${init.method ?? "GET"} ${path.split("?")[0]}`;
    asked.push(name);
    return known[name]?.(init) ?? json({ code: "missing", detail: `no ${name}` }, 404);
  });
  return asked;
}

const answer = { run: "r1", workflow: "auto", claims: [], citations: [], steps: [] };
const answered = { ...answer, queries: [], passages: [], warnings: [] } as unknown as Answer;
const record = { id: "r1", question: "q", workflow: "auto", position: null, after: null };

beforeEach(() => {
  vi.stubGlobal("location", { hash: "#/" });
  vi.stubGlobal("history", {
    pushState: (_state: null, _title: string, url: string) => {
      location.hash = url;
    },
  });
  dispatch({ type: "run", run: null, earlier: [] });
  dispatch({ type: "notice", notice: null });
  dispatch({ type: "token wanted", wanted: false });
  dispatch({ type: "limit", documents: [] });
});

test("a question shows at once, gets its address, and ends with its answer", async () => {
  let sent: Record<string, unknown> = {};
  serve({
    "POST /api/ask": (init) => {
      sent = JSON.parse(String(init.body));
      return json({ run: "r1" }, 202);
    },
    "GET /api/runs/r1/events": () =>
      events(
        { type: "run_started", run: "r1", question: "q", workflow: "auto" },
        { type: "answered", run: "r1", answer: answered },
      ),
  });
  dispatch({ type: "limit", documents: ["d1"] });
  const asking = actions.ask("q", { workflow: null, after: "r0", web: false });
  expect(getState().run).toMatchObject({ phase: "asking", question: "q", after: "r0" });
  await asking;
  expect(sent).toMatchObject({
    question: "q",
    workflow: null,
    documents: ["d1"],
    web: false,
    conversation: { after: "r0" },
    detach: true,
  });
  expect(location.hash).toBe("#/runs/r1");
  expect(getState().run).toMatchObject({ id: "r1", phase: "done" });
});

test("a follow-up stands below what it follows, and an answer beside its first source", async () => {
  const citation = { number: 1, document: "d", title: "Minutes", page: 1, quote: "x" };
  const given = { ...answered, citations: [citation] };
  const answers = (run: string) => () =>
    events({ type: "answered", run, answer: { ...given, run } });
  let asked = 0;
  serve({
    "POST /api/ask": () => {
      asked += 1;
      return json({ run: `r${asked}` }, 202);
    },
    "GET /api/runs/r1/events": answers("r1"),
    "GET /api/runs/r2/events": answers("r2"),
    "GET /api/runs/r3/events": answers("r3"),
    "PUT /api/runs/r1/feedback": () => json({}),
  });
  await actions.ask("one", { workflow: null });
  expect(getState()).toMatchObject({ panel: "source", source: { run: "r1", number: 1 } });
  await actions.ask("two", { workflow: null, after: "r1" });
  const turns = () => [...getState().earlier, getState().run].map((turn) => turn?.question);
  expect(turns()).toEqual(["one", "two"]);
  const [first] = getState().earlier;
  if (first) await actions.judge(first, "wrong");
  expect(getState().earlier[0]?.feedback).toBe("wrong");
  await actions.ask("two, another way", { workflow: null, after: "r1" });
  expect(turns()).toEqual(["one", "two, another way"]);
  await actions.ask("something else", { workflow: null });
  expect(turns()).toEqual(["something else"]);
});

test("who goes elsewhere while the question is sent is not called back", async () => {
  serve({ "POST /api/ask": () => json({ run: "r1" }, 202) });
  const asking = actions.ask("q", { workflow: null });
  dispatch({ type: "run", run: null, earlier: [] });
  await asking;
  expect(getState().run).toBeNull();
  expect(location.hash).toBe("#/");
});

test("a question that is not taken says why, and can be asked again", async () => {
  const problem = { code: "queue_full", detail: "64 questions wait already", hint: "Try later." };
  serve({ "POST /api/ask": () => json(problem, 429) });
  await actions.ask("q", { workflow: null });
  expect(getState().run).toMatchObject({ phase: "lost", problem: { hint: "Try later." } });
});

test("a stop amid the events of a run that went on is no end", async () => {
  serve({
    "POST /api/ask": () => json({ run: "r1" }, 202),
    "GET /api/runs/r1/events": () =>
      events(
        { type: "stopped", run: "r1", why: "it was stopped" },
        { type: "run_started", run: "r1", question: "q", workflow: "auto" },
        { type: "answered", run: "r1", answer: answered },
      ),
  });
  await actions.ask("q", { workflow: null });
  expect(getState().run?.phase).toBe("done");
});

test("a stream that ends with a stop leaves the run stopped", async () => {
  serve({
    "POST /api/ask": () => json({ run: "r1" }, 202),
    "GET /api/runs/r1/events": () => events({ type: "stopped", run: "r1", why: "" }),
    "GET /api/runs/r1": () => json({ ...record, status: "interrupted", answer: null }),
  });
  await actions.ask("q", { workflow: null });
  expect(getState().run?.phase).toBe("stopped");
});

test("an address opens its run, and the citation that it names", async () => {
  const citation = { number: 2, document: "d", title: "Minutes", page: 1, quote: "x" };
  const cited = { ...answered, citations: [citation] };
  const [first, last] = ["r1", "r2"].map((id, at) => {
    const answer = at === 0 ? cited : { ...answered, run: id };
    return { ...record, id, status: "answered", answer };
  });
  const thread = { id: "r1", title: "About q", runs: [first, last] };
  serve({ "GET /api/threads/r1": () => json(thread) });
  location.hash = "#/runs/r1/citations/2";
  await actions.followRoute();
  expect(getState()).toMatchObject({ title: "About q", run: { id: "r2" }, inView: "r1" });
  expect(getState().earlier.map((turn) => turn.id)).toEqual(["r1"]);
  expect(getState().source).toMatchObject({ number: 2, title: "Minutes", run: "r1" });
  location.hash = "#/runs/r1";
  await actions.followRoute();
  expect(getState()).toMatchObject({ source: null, panel: "made" });
});

test("an address of no run says so in the place of the answer", async () => {
  serve({});
  location.hash = "#/runs/nope";
  await actions.followRoute();
  expect(getState().run).toMatchObject({ id: "nope", phase: "lost", problem: { code: "missing" } });
});

test("where the server wants its token, the page asks for it, and says when it is wrong", async () => {
  const refused = () => json({ code: "token_wanted", detail: "show the token" }, 401);
  serve({ "GET /api/threads": refused, "POST /api/session": refused });
  await actions.refreshThreads();
  expect(getState()).toMatchObject({ tokenWanted: true, notice: null });
  expect(await actions.giveToken("wrong")).toMatchObject({ status: 401 });
});

test("files that are taken in are followed to the end, and the list is read anew", async () => {
  const job = (status: Job["status"]): Job => ({
    id: "j1",
    status,
    stage: "reading",
    files: [],
    share: 0.5,
    started: null,
    error: null,
  });
  const asked = serve({
    "POST /api/libraries/default/documents": () => json(job("running"), 202),
    "GET /api/libraries/default/jobs/j1/events": () => events(job("running"), job("done")),
  });
  expect(await actions.upload([[new File(["x"], "x.txt")]])).toBe(true);
  expect(getState().jobs).toEqual([]); // as the list says, which was read last
  expect(asked.at(-1)).toMatch(/documents|suggestions/);
});

test("files are on the list while they are sent, and off it when they are refused", async () => {
  const during: string[][] = [];
  serve({
    "POST /api/libraries/default/documents": () => {
      during.push(getState().jobs.map((job) => `${job.stage} ${job.files[0]?.name}`));
      return json({ detail: "no room" }, 507);
    },
  });
  expect(await actions.upload([[new File(["x"], "x.txt")]])).toBe(false);
  expect(during).toEqual([["sending x.txt"]]);
  expect(getState().jobs).toEqual([]);
});

test("a refused upload is told at the foot of the page", async () => {
  dispatch({ type: "settings", settings: { workflow: "auto" } as never });
  const problem = { code: "too_large", detail: "the file is too large", hint: "At most 200 MB." };
  serve({ "POST /api/libraries/default/documents": () => json(problem, 413) });
  expect(await actions.upload([[new File(["x"], "x.txt")]])).toBe(false);
  expect(getState().notice).toEqual({ text: "The file is too large. At most 200 MB.", bad: true });
});
