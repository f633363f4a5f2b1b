// Maps a refusal to form fields: the server names fields by JSON pointer, the form by name.
import { Problem } from "../api/problem";

interface Placed {
  /** What is wrong with each field that the form has. */
  errors: Record<string, string>;
  /** Whether the fields say all of it; if not, the refusal has to be shown as well. */
  isAllSaid: boolean;
}

/** `/scopes/0` belongs to the field `scopes`. Several faults of a field are said one after the other. */
export function faultsByField(error: unknown, fields: string[]): Placed {
  const faults = error instanceof Problem ? (error.faults ?? []) : [];
  const errors: Record<string, string> = {};
  let placed = 0;
  for (const fault of faults) {
    const field = fault.pointer.split("/")[1] ?? "";
    if (!fields.includes(field)) continue;
    placed += 1;
    errors[field] = errors[field] === undefined ? fault.detail : `${errors[field]} ${fault.detail}`;
  }
  return { errors, isAllSaid: faults.length > 0 && placed === faults.length };
}
