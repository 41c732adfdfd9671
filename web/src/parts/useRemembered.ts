import { useState } from "react";

/** Like useState, but as long as the window is open a reload does not forget it. */
export function useRemembered<T extends string>(name: string, first: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => read(name) ?? first);
  const set = (next: T) => {
    setValue(next);
    try {
      sessionStorage.setItem(name, next);
    } catch {
      // without storage it is forgotten, and nothing else
    }
  };
  return [value, set];
}

function read<T extends string>(name: string): T | null {
  try {
    return sessionStorage.getItem(name) as T | null;
  } catch {
    return null;
  }
}
