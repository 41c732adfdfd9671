import { afterEach, expect, test, vi } from "vitest";
import { followRun, Problem, settings } from "./api";
import { EventParser } from "./sse";
import type { RunEvent } from "./types";

test("events are read whole, however the wire cuts them", () => {
  const wire =
    'id: 1\nevent: token\ndata: {"a":1}\n\n: still here\n\nid: 2\r\ndata: x\r\ndata: y\r\n\r\n';
  const expected = [
    { id: "1", type: "token", data: '{"a":1}' },
    { id: "2", type: "message", data: "x\ny" },
  ];
  for (let size = 1; size <= wire.length; size += 1) {
    const parser = new EventParser();
    const pieces = Array.from({ length: Math.ceil(wire.length / size) }, (_, place) =>
      wire.slice(place * size, (place + 1) * size),
    );
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(expected);
  }
});

const line = (id: number, event: object) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
const stream = (...lines: string[]) => new Response(lines.join(""));

afterEach(() => vi.unstubAllGlobals());

test("a stream that was cut is taken up after the last event that came", async () => {
  vi.useFakeTimers();
  const replies = [
    () =>
      stream(
        line(1_000_001, { type: "token", text: "a" }),
        line(90_001_000_002, { type: "token", text: "b" }),
      ),
    () => Promise.reject(new TypeError("network")),
    () => stream(line(90_001_000_003, { type: "stopped", why: "" })),
  ];
  const sent: (string | null)[] = [];
  vi.stubGlobal("fetch", (_path: string, init: RequestInit) => {
    sent.push(new Headers(init.headers).get("Last-Event-ID"));
    return Promise.resolve(replies[sent.length - 1]?.());
  });
  const seen: string[] = [];
  const connections: boolean[] = [];
  const done = followRun("r", {
    signal: new AbortController().signal,
    take: (events: RunEvent[]) => {
      seen.push(...events.map((event) => event.type));
      return seen.includes("stopped");
    },
    connection: (up) => connections.push(up),
    isOver: () => Promise.resolve(false),
  });
  await vi.advanceTimersByTimeAsync(5000);
  await done;
  vi.useRealTimers();
  expect(seen).toEqual(["token", "token", "stopped"]);
  expect(sent).toEqual([null, "90001000002", "90001000002"]);
  expect(connections).toContain(false);
  expect(connections.at(-1)).toBe(true);
});

test("what cannot be had again is not asked for again", async () => {
  const body = JSON.stringify({ code: "run_missing", detail: "no run 'r'", hint: "list them" });
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(body, { status: 404 })));
  const options = { take: () => false, isOver: () => Promise.resolve(false) };
  const following = followRun("r", { signal: new AbortController().signal, ...options });
  await expect(following).rejects.toMatchObject({ code: "run_missing", hint: "list them" });
});

test("a server that is away is a problem with words, whatever the browser throws", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(settings()).rejects.toBeInstanceOf(Problem);
  await expect(settings()).rejects.toMatchObject({ code: "unreachable", status: 0 });
});
