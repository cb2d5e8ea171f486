-- Adds many jobs to a queue, as `addStandardJob` of BullMQ 6.7 adds each of them.
--
-- It does the simple case only: new jobs of a queue that is neither paused nor limited. It checks this before the first
-- write. Where a condition does not hold it returns nil and has written nothing. A queue whose event stream may have no
-- entry (`maxLen` 0) gets none: BullMQ's script adds each and removes it at the next call.
--
-- On failure: Redis keeps what a script wrote before an error. No worker sees a job before its id is in the waiting list,
-- which is the last write; an error before it removes the jobs again, so that BullMQ's script can add each of them.
--
-- KEYS: waiting list, settings, counter of ids, event stream, marker. ARGV: prefix of the keys of jobs, name and options of
-- the jobs, now, the command that puts ids in the waiting list, then id and data of each job. Returns 1 if they were added.
local call = redis.call
local events, n = KEYS[4], (#ARGV - 5) / 2
local prefix, name, opts, now, push = unpack(ARGV, 1, 5)
local meta = call('HMGET', KEYS[2], 'paused', 'concurrency', 'opts.maxLenEvents')
if meta[1] or meta[2] or not meta[3] then return nil end
local hasEvents = tonumber(meta[3]) ~= 0
local ids, keys = {}, {}
for i = 1, n do
  local id = ARGV[4 + 2 * i]
  ids[i], keys[i] = id, prefix .. id
end
if call('EXISTS', unpack(keys)) > 0 then return nil end

local ok, failure = pcall(function()
  call('INCRBY', KEYS[3], n)
  for i = 1, n do
    local data = ARGV[5 + 2 * i]
    call('HSET', keys[i], 'name', name, 'data', data, 'opts', opts, 'timestamp', now, 'delay', '0', 'priority', '0')
    if hasEvents then
      call('XADD', events, '*', 'event', 'added', 'jobId', ids[i], 'name', name)
      call('XADD', events, 'MAXLEN', '~', meta[3], '*', 'event', 'waiting', 'jobId', ids[i])
    end
  end
  call('ZADD', KEYS[5], 0, '0')
  call(push, KEYS[1], unpack(ids))
end)
if ok then return 1 end
call('DEL', unpack(keys))
error(failure)
