// A time: relative in words, exact on hover.
import { absolute, relative, useNow, useZone } from "./clock";

interface WhenProps {
  at: string | null | undefined;
  /** Shows the exact time itself, as lists do where moments are compared. */
  exact?: boolean;
}

export function When({ at, exact }: WhenProps) {
  if (!at) return <span className="quiet">never</span>;
  return exact ? <Exactly at={at} /> : <Ago at={at} />;
}

/** Plain mark-up that does not tick, because long lists are full of it. */
function Exactly({ at }: { at: string }) {
  const [zone] = useZone();
  const moment = new Date(at);
  return (
    <time dateTime={at} className="mono" title={relative(moment, new Date())}>
      {absolute(moment, zone)}
    </time>
  );
}

function Ago({ at }: { at: string }) {
  const [zone] = useZone();
  const now = useNow();
  const moment = new Date(at);
  return (
    <time dateTime={at} title={absolute(moment, zone)}>
      {relative(moment, now)}
    </time>
  );
}
