// Notices when a session ends while someone is using the console.
import { Problem } from "./problem";
import { me, queries } from "./queries";

/** Calls back when the server does not know any more who asks. */
export function whenSessionEnds(then: () => void): void {
  let isAsking = false;
  /** A refused call need not be about the session: a key that was tried out is refused alike. */
  const heed = async (error: unknown) => {
    if (isAsking || !isUnknown(error)) return;
    isAsking = true;
    await queries.fetchQuery({ ...me, staleTime: 0 }).catch((again) => isUnknown(again) && then());
    isAsking = false;
  };
  queries.getQueryCache().subscribe((event) => {
    if (event.type !== "updated" || event.action.type !== "error") return;
    // Who was just asked about is not asked about again.
    const isAnswer = event.query.queryKey[0] === me.queryKey[0];
    if (!isAnswer) heed(event.action.error);
    else if (!isAsking && isUnknown(event.action.error)) then();
  });
  queries.getMutationCache().subscribe((event) => {
    if (event.type === "updated" && event.action.type === "error") heed(event.action.error);
  });
}

function isUnknown(error: unknown): boolean {
  return error instanceof Problem && error.isUnauthenticated;
}
