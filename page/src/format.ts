/** Numbers and texts as people read them. */

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const [value, unit] =
    count < 1048576
      ? [count / 1024, "KiB"]
      : count < 1073741824
        ? [count / 1048576, "MiB"]
        : [count / 1073741824, "GiB"];
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

export const number = (value: number): string => value.toLocaleString("en");

export function count(value: number, word: string, several = `${word}s`): string {
  return `${number(value)} ${value === 1 ? word : several}`;
}

/** Text for HTML, XML and attribute values. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Round to a tenth: what a coordinate in a file needs. */
export const tenth = (value: number): number => Math.round(value * 10) / 10;
