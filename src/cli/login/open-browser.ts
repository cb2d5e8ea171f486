/** Opens a URL in the browser of this machine, if there is one; the URL is printed as well. */
import { spawn } from 'node:child_process';

export function openBrowser(url: string): void {
  const [program, ...args] = opener();
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  // Without such a program or a desktop, the person copies the URL.
  child.on('error', () => {});
  child.unref();
}

function opener(): [program: string, ...args: string[]] {
  if (process.platform === 'darwin') return ['open'];
  // Unlike `start`, it accepts a URL with an `&` as it is.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}
