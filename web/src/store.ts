/** The state of the page, shared: read it with `useSelect`, change it through `actions.ts`. */

import { useSyncExternalStore } from "react";
import { type Action, initialState, reduce, type State } from "./state";

let state = initialState;
const listeners = new Set<() => void>();

export const getState = (): State => state;

export function dispatch(action: Action): void {
  const next = reduce(state, action);
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The selector must give back a part of the state, not something newly made. */
export function useSelect<T>(selector: (state: State) => T): T {
  return useSyncExternalStore(subscribe, () => selector(state));
}
