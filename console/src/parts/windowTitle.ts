// The window's title: the screen's name, and before it how many requests wait for a person.
let name = "";
let waiting = "";

export function nameWindow(next: string): void {
  name = next;
  write();
}

export function countInTitle(next: string): void {
  waiting = next;
  write();
}

function write(): void {
  const count = waiting === "" ? "" : `(${waiting}) `;
  document.title = name === "" ? `${count}Watchbell` : `${count}${name} · Watchbell`;
}
