// Formats numbers, counts and file sizes.

/** Such as `12,345`. */
export function number(value: number): string {
  return value.toLocaleString("en");
}

/** Such as `1 event` or `12,345 events`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** Such as `1.2 MB`. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [size, unit] = [count, 0];
  while (size >= 1_000 && unit < units.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}
