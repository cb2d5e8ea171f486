/** Processor time of this process, which other programs on the machine do not affect as they do elapsed time. */

/** Milliseconds of processor time that all threads of this process used while `work` ran. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
