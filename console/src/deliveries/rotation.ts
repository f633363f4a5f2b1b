// How far a rotation of signing secrets is.
import type { Body } from "../api/client";

/** 0: nothing is under way. 1: one is staged. 2: one was promoted, and the one before still signs. */
export type Step = 0 | 1 | 2;

export function stepOf({ data, initial }: Body<"SecretList">): Step {
  if (data.some(({ state }) => state === "staged")) return 1;
  const isOverlapping = data.some(({ state }) => state === "previous") || initial?.state === "previous";
  return isOverlapping ? 2 : 0;
}
