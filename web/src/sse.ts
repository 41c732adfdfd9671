/** Server-sent events read from a fetch body: EventSource can send neither a token nor the last id. */

export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

/** Takes text as it comes off the wire and gives back the events that are complete. */
export class EventParser {
  private rest = "";
  private id = "";

  push(text: string): ServerEvent[] {
    const all = this.rest + text;
    // A carriage return at the very end may be the first half of a line end.
    const held = all.endsWith("\r") ? "\r" : "";
    const lines = all.slice(0, all.length - held.length).replace(/\r\n?/g, "\n");
    const blocks = lines.split("\n\n");
    this.rest = (blocks.pop() ?? "") + held;
    return blocks.flatMap((block) => this.read(block));
  }

  private read(block: string): ServerEvent[] {
    let type = "message";
    const data: string[] = [];
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon === 0) continue; // a comment: keep-alive
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "id") this.id = value;
      else if (field === "event") type = value;
      else if (field === "data") data.push(value);
    }
    return data.length > 0 ? [{ id: this.id, type, data: data.join("\n") }] : [];
  }
}

/** Everything of one connection, in the batches in which it arrived. */
export async function* eventBatches(response: Response): AsyncGenerator<ServerEvent[]> {
  if (!response.body) return;
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const batch = parser.push(value);
      if (batch.length > 0) yield batch;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
