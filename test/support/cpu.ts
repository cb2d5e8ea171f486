/** Processor time of this process, which others on the machine do not lengthen as they do the time on the wall. */

/** Milliseconds that all threads of this process have worked while `work` ran. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
