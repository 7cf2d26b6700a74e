-- Keep jobs whose keys are free; a job that was set aside is replaced. KEYS: jobs, due. ARGV: key, kind, job … Returns how many are new.
local clock = redis.call('TIME')
local now, new = clock[1] * 1000000 + clock[2], 0
for n = 1, #ARGV, 3 do
  local due = KEYS[2] .. ARGV[n + 1]
  if not redis.call('ZSCORE', due, ARGV[n]) and not redis.call('ZSCORE', due .. '/retry', ARGV[n]) then
    redis.call('HSET', KEYS[1], ARGV[n], ARGV[n + 2])
    redis.call('ZADD', due, now, ARGV[n])
    new = new + 1
  end
end
return new
