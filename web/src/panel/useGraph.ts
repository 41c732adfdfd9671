import { useEffect, useState } from "react";
import * as api from "../api";
import type { Graph } from "../types";

// Graphs change only with the settings of the server, so one reading is enough.
const read = new Map<string, Promise<Graph>>();

function graphNamed(name: string): Promise<Graph> {
  const known = read.get(name);
  if (known) return known;
  const reading = api.graph(name);
  read.set(name, reading);
  reading.catch(() => read.delete(name));
  return reading;
}

/** The graph of a workflow: null until it was read, "missing" where it cannot be. */
export function useGraph(name: string): Graph | "missing" | null {
  const [found, setFound] = useState<{ name: string; graph: Graph | "missing" } | null>(null);
  useEffect(() => {
    let wanted = true;
    const show = (graph: Graph | "missing") => wanted && setFound({ name, graph });
    graphNamed(name).then(show, () => show("missing"));
    return () => {
      wanted = false;
    };
  }, [name]);
  return found?.name === name ? found.graph : null;
}
