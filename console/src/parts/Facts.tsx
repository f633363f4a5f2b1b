// A list of names and values; empty values are left out.
import type { ReactNode } from "react";
import classes from "./Facts.module.css";

export function Facts({ of }: { of: Record<string, ReactNode> }) {
  const known = Object.entries(of).filter(
    ([, value]) => value !== undefined && value !== null && value !== false && value !== "",
  );
  return (
    <dl className={classes.facts}>
      {known.map(([name, value]) => (
        <div key={name} className={classes.fact}>
          <dt className={classes.name}>{name}</dt>
          <dd className={classes.value}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
