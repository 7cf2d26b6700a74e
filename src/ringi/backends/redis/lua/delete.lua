-- Forget the items of a stream unless a higher fence was used on it. KEYS: fence, items. ARGV: fence.
local fence, token, deleted = string.match(redis.call('GET', KEYS[1]) or '0 - 0', '^(%d+) (%S+) ?(%d*)$')
if tonumber(ARGV[1]) < tonumber(fence) then return -1 end
deleted = (tonumber(deleted) or 0) + redis.call('LLEN', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token .. ' ' .. deleted)
redis.call('DEL', KEYS[2])
return deleted
