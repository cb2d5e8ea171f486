/** The address of a path of the console, such as `/imports`: the public address may have a path of its own. */
export type At = (path: string) => string;

/** @param baseUrl the public address */
export function openAt(baseUrl: string): At {
  const prefix = new URL(baseUrl).pathname.replace(/\/$/, '');
  return (path) => `${prefix}/console${path}`;
}
