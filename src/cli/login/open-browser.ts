/** Opens an address in the browser of whoever sits here, if there is one: the address is printed as well. */
import { spawn } from 'node:child_process';

export function openBrowser(url: string): void {
  const [program, ...args] = opener();
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  // No such program, no desktop: then the person copies the address.
  child.on('error', () => {});
  child.unref();
}

function opener(): [program: string, ...args: string[]] {
  if (process.platform === 'darwin') return ['open'];
  // Unlike `start`, it takes an address with an `&` as it is.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}
