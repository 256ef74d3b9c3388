/** Light and dark, and the style sheet's colours for what is drawn. */

export type Colours = Record<string, string>;

const NAMES = (
  "bg panel line ink soft faint accent hover created created-bg retained retained-bg freed passed detached detached-bg " +
  "unknown gone error error-bg leaf leaf-bg edge group group2"
).split(" ");

export function isDark(): boolean {
  return document.documentElement.classList.contains("dark");
}

export function setDark(dark: boolean): Colours {
  document.documentElement.classList.toggle("dark", dark);
  return readColours();
}

/** Light or dark as the system is, now and when it changes. */
export function followSystem(set: (dark: boolean) => void) {
  const query = matchMedia("(prefers-color-scheme: dark)");
  query.addEventListener("change", (event) => set(event.matches));
  set(query.matches);
}

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}
