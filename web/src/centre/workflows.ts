import { AUTO } from "../run";

/** As the page calls a workflow: their own names are words already. */
export const workflowName = (name: string): string =>
  name === AUTO ? "Automatic" : name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** The order in which they are offered. */
export const automaticFirst = <T extends { name: string }>(workflows: T[]): T[] =>
  [...workflows].sort((one, other) => Number(other.name === AUTO) - Number(one.name === AUTO));
