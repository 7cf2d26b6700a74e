-- Claim the first job of some kinds whose time has come and whose lane is free. A claim is a time in the future at which
-- the job is due again, so a dead worker's job comes back by itself. A job that cannot be read has a lane of its own.
-- KEYS: jobs, due, claims, tries, lanes. ARGV: owner, microseconds, kind … Returns key, job, kind, lane, earlier tries.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
for n = 3, #ARGV do
  local due = KEYS[2] .. ARGV[n]
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now)) do
    local job = redis.call('HGET', KEYS[1], key) or ''
    local is_read, lane = pcall(function() return cjson.decode(job).lane .. '' end)
    if not is_read then lane = key end
    local held, by = string.match(redis.call('HGET', KEYS[5], lane) or '', '^(%d+) (.*)$')
    if (tonumber(held) or 0) <= now or by == key then
      local to = string.format('%.0f', now + tonumber(ARGV[2]))
      redis.call('ZADD', due, to, key)
      redis.call('HSET', KEYS[3], key, ARGV[1])
      redis.call('HSET', KEYS[5], lane, to .. ' ' .. key)
      return {key, job, ARGV[n], lane, redis.call('HINCRBY', KEYS[4], key, 1) - 1}
    end
  end
end
return nil
