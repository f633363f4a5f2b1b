// The window's title: the screen's name, and before it how many requests wait for a person.
let name = "";
let waiting = 0;

export function nameWindow(next: string): void {
  name = next;
  write();
}

export function countInTitle(next: number): void {
  waiting = next;
  write();
}

function write(): void {
  const count = waiting > 0 ? `(${waiting}) ` : "";
  document.title = name === "" ? `${count}Watchbell` : `${count}${name} · Watchbell`;
}
