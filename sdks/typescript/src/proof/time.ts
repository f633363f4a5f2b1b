// Times as records write them (RFC 3339), in milliseconds since 1970 as leaves have them.

/** Any ASCII character may be between date and time. */
const RFC_3339 =
  /^(\d{4})-(\d\d)-(\d\d)[\0-\x7f](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

const DAY_S = 86_400;

/** Finer fractions than a millisecond are cut, as the server does; a leap second is the end of the one before. */
export function unixMs(text: string): number | undefined {
  const parts = RFC_3339.exec(text);
  if (parts === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const [offsetHour, offsetMinute] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined;
  const midnightS = startOfDay(year, month, day);
  if (midnightS === undefined) return undefined;
  const offsetS = (offsetHour * 60 + offsetMinute) * (parts[8] === "-" ? -60 : 60);
  const isLeap = second === 60;
  const unixS = midnightS + hour * 3600 + minute * 60 + second - Number(isLeap) - offsetS;
  if (isLeap && !endsAMonth(unixS)) return undefined;
  const fractionMs = isLeap ? 999 : Number(`${parts[7] ?? ""}000`.slice(0, 3));
  return unixS * 1000 + fractionMs;
}

/** In seconds since 1970; undefined if there is no such day. */
function startOfDay(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isThere = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isThere ? date.getTime() / 1000 : undefined;
}

function endsAMonth(unixS: number): boolean {
  const next = new Date((unixS + 1) * 1000);
  return (unixS + 1) % DAY_S === 0 && next.getUTCDate() === 1;
}
