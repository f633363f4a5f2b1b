// The facts of a request that its policy shows with `@show`.
import type { Body } from "../api/client";
import classes from "./Shown.module.css";

export function Shown({ facts }: { facts: Body<"ApprovalFact">[] }) {
  if (facts.length === 0) return null;
  return (
    <dl className={classes.facts} aria-label="Facts">
      {facts.map(({ name, value }) => (
        <div key={name} className={classes.fact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
